import { eventually } from './eventually.ts';
import { type LogLine, startProgram } from './program.ts';

const startMs = 30_000;

export interface RoleOptions {
  /** Absent: the role finds its service account by itself. */
  readonly kubeconfig?: string;
  /** A program that runs it, with its arguments. */
  readonly under?: readonly string[];
  /** What is run in place of the sources: another version. */
  readonly program?: readonly string[];
  /** What Node.js itself is told where the sources are run. */
  readonly nodeFlags?: readonly string[];
  /** Namespaces to serve; the first is the home namespace unless `homeNamespace` names another. */
  readonly namespaces: readonly string[];
  readonly homeNamespace?: string;
  /** What `POD_NAME` says: the instance's name in Leases and Events. */
  readonly podName?: string;
  readonly flags?: readonly string[];
  readonly logLevel?: 'debug' | 'info';
  /** More environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A role of the product as a process of its own. It ends with the test process at the latest. */
export interface RoleProcess extends AsyncDisposable {
  readonly role: 'controller' | 'gateway';
  readonly pid: number;
  /** Everything it printed so far. */
  output(): string;
  /** Its log so far, line by line. */
  log(): readonly LogLine[];
  /** Origin of `/livez`, `/readyz` and `/metrics`. */
  readonly admin: string;
  /** Where callers send requests, with `/v1`. @throws while it serves no traffic */
  baseURL(): string;
  /** GET on the admin port. */
  probe(path: '/livez' | '/readyz' | '/metrics'): Promise<{ status: number; body: string }>;
  /** Resolves when `/readyz` answers 200, for a gateway also when it listens. */
  whenReady(timeoutMs?: number): Promise<void>;
  /** Sends the signal (default SIGTERM) and answers the exit code; null when the signal ended it. Kills after 30 s. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
}

/** Starts `model-gateway <role>` on free loopback ports and waits until its admin port answers; see `whenReady`. */
export async function startRole(role: 'controller' | 'gateway', options: RoleOptions): Promise<RoleProcess> {
  const { kubeconfig, namespaces, homeNamespace = namespaces[0] ?? 'default', logLevel = 'info' } = options;
  const program = startProgram({
    args: [
      role,
      ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
      ...['--home-namespace', homeNamespace, '--log-level', logLevel],
      ...namespaces.flatMap((namespace) => ['--namespace', namespace]),
      ...['--admin-listen', '127.0.0.1:0', '--allow-loopback-upstreams'],
      ...(role === 'gateway' ? ['--listen', '127.0.0.1:0'] : []),
      ...(options.flags ?? []),
    ],
    env: { POD_NAME: options.podName ?? `${role}-1`, ...options.env },
    ...(options.under === undefined ? {} : { under: options.under }),
    ...(options.program === undefined ? {} : { program: options.program }),
    ...(options.nodeFlags === undefined ? {} : { nodeFlags: options.nodeFlags }),
  });
  const { pid, output, log, listens, stop, signal } = program;
  const started: RoleProcess = {
    role,
    pid,
    output,
    log,
    stop,
    signal,
    get admin() {
      return `http://${listens('Serving probes and metrics') ?? 'not-listening.invalid'}`;
    },
    baseURL() {
      const address = listens('Serving');
      if (address === undefined) throw new Error(`${role} ${pid} serves no traffic`);
      return `http://${address}/v1`;
    },
    async probe(path) {
      const answer = await fetch(started.admin + path, { signal: AbortSignal.timeout(10_000) });
      return { status: answer.status, body: await answer.text() };
    },
    async whenReady(timeoutMs = startMs) {
      await eventually(
        `${role} is ready`,
        async () => {
          program.alive();
          if (role === 'gateway' && listens('Serving') === undefined) return false;
          return (await started.probe('/readyz')).status === 200;
        },
        timeoutMs,
      );
    },
    [Symbol.asyncDispose]: program[Symbol.asyncDispose],
  };
  await program.until(`${role} listens`, () => listens('Serving probes and metrics') !== undefined, startMs);
  return started;
}
