import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type Guard, startGuard } from './guard.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const startMs = 30_000;
const stopMs = 30_000;

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

export interface RoleOptions {
  readonly kubeconfig: string;
  /** Namespaces to serve; the first is the home namespace unless `homeNamespace` names another. */
  readonly namespaces: readonly string[];
  readonly homeNamespace?: string;
  /** What `POD_NAME` says: the instance's name in Leases and Events. */
  readonly podName?: string;
  readonly flags?: readonly string[];
  readonly logLevel?: 'debug' | 'info';
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

const running = new Set<RoleProcess>();
let guard: Guard | undefined;

// Without the log of the processes a failed test of processes says nothing.
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  for (const each of running) {
    const tail = each.output().split('\n').slice(-25).join('\n');
    console.log(`--- end of the log of ${each.role} ${each.pid} after "${task.name}" failed\n${tail}`);
  }
});

/** Starts `model-gateway <role>` on free loopback ports and waits until its admin port answers; see `whenReady`. */
export async function startRole(role: 'controller' | 'gateway', options: RoleOptions): Promise<RoleProcess> {
  const { kubeconfig, namespaces, homeNamespace = namespaces[0] ?? 'default', logLevel = 'info' } = options;
  const child = spawn(
    process.execPath,
    [
      mainFile,
      role,
      ...['--kubeconfig', kubeconfig, '--home-namespace', homeNamespace, '--log-level', logLevel],
      ...namespaces.flatMap((namespace) => ['--namespace', namespace]),
      ...['--admin-listen', '127.0.0.1:0', '--allow-loopback-upstreams'],
      ...(role === 'gateway' ? ['--listen', '127.0.0.1:0'] : []),
      ...(options.flags ?? []),
    ],
    {
      // Nothing of the user's own settings may reach it.
      env: { PATH: process.env['PATH'], POD_NAME: options.podName ?? `${role}-1` },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error(`model-gateway ${role} could not be started`);
  guard ??= startGuard();
  guard.watch(pid);
  const gone = once(child, 'exit').then(([code]) => {
    guard?.forget(pid);
    return code as number | null;
  });
  const { output, log } = collect(child);
  const listens = (message: string) => addressOf(log().find(({ msg }) => msg === message));

  const started: RoleProcess = {
    role,
    pid,
    output,
    log,
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
          alive();
          if (role === 'gateway' && listens('Serving') === undefined) return false;
          return (await started.probe('/readyz')).status === 200;
        },
        timeoutMs,
      );
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      const code = await gone;
      clearTimeout(timer);
      running.delete(started);
      return code;
    },
    signal: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => void (await started.stop('SIGKILL')),
  };
  const alive = (): void => {
    if (child.exitCode === null && child.signalCode === null) return;
    throw new Error(`${role} ${pid} ended (${child.exitCode ?? child.signalCode}):\n${output()}`);
  };
  running.add(started);
  await eventually(
    `${role} listens`,
    () => {
      alive();
      return listens('Serving probes and metrics') !== undefined;
    },
    startMs,
  );
  return started;
}

const listenSchema = z.object({ listen: z.object({ host: z.string(), port: z.number() }) });

function addressOf(line: LogLine | undefined): string | undefined {
  const parsed = listenSchema.safeParse(line);
  return parsed.success ? `${parsed.data.listen.host}:${parsed.data.listen.port}` : undefined;
}

function collect(child: ChildProcess): { output: () => string; log: () => readonly LogLine[] } {
  const lines: string[] = [];
  const records: LogLine[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      try {
        const record = JSON.parse(line) as LogLine;
        if (typeof record.msg === 'string') records.push(record);
      } catch {
        // Not of our log: a crash, or Node's own warnings.
      }
    });
  }
  return { output: () => lines.join('\n'), log: () => records };
}
