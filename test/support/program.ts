import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { z } from 'zod';
import { bareEnvironment } from './bare-environment.ts';
import { eventually } from './eventually.ts';
import { type Guard, startGuard } from './guard.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const noNames = new URL('./no-names.ts', import.meta.url).href;
const stopMs = 30_000;

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

export interface ProgramOptions {
  /** What stands behind `model-gateway`; the first is the command. */
  readonly args: readonly string[];
  /** Added to `bareEnvironment`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether host names resolve; false wherever manifests name real providers, which no test may call. */
  readonly names?: boolean;
  /** A program that runs it, such as `setpriv` with its arguments. */
  readonly under?: readonly string[];
  /** What is run, before `args`; default: the sources, on this Node.js. */
  readonly program?: readonly string[];
  /** What Node.js itself is told where the sources are run. */
  readonly nodeFlags?: readonly string[];
}

/** `model-gateway` as a process of its own. It ends with the test process at the latest. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  /** Everything it printed so far, on stdout and stderr. */
  output(): string;
  /** The lines of stdout alone. */
  stdout(): string;
  /** Its log so far, line by line; empty in the text format. */
  log(): readonly LogLine[];
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** The same, although what it printed may not be read yet. */
  readonly ended: Promise<number | null>;
  /** Stops reading what it prints, or goes on. */
  stallOutput(stalled: boolean): void;
  /** @throws when it has ended, with what it printed */
  alive(): void;
  /** `host:port` of the log line with that message; undefined while there is none. */
  listens(message: string): string | undefined;
  /** Waits for a condition; fails at once when the process ends. */
  until(what: string, condition: () => Promise<boolean> | boolean, timeoutMs?: number): Promise<void>;
  /** Sends the signal (default SIGTERM) and answers the exit code; null when the signal ended it. Kills after 30 s. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
}

const running = new Map<Program, readonly string[]>();
let guard: Guard | undefined;

// Without the log of the processes a failed test of processes says nothing. Programs that measure have no tests.
if (process.env['VITEST'] !== undefined) {
  afterEach(({ task }) => {
    if (task.result?.state !== 'fail') return;
    for (const [program, [command = '']] of running) {
      const tail = program.output().split('\n').slice(-25).join('\n');
      console.log(`--- end of the log of ${command} ${program.pid} after "${task.name}" failed\n${tail}`);
    }
  });
}

/** Starts the program and answers at once. */
export function startProgram(options: ProgramOptions): Program {
  const { args, env = {}, cwd, names = true, under = [], nodeFlags = [] } = options;
  const [command = '', ...rest] = [
    ...under,
    ...(options.program ?? [
      process.execPath,
      ...nodeFlags,
      ...(names ? [] : ['--import', noNames]),
      mainFile,
    ]),
    ...args,
  ];
  const child = spawn(command, rest, {
    env: { ...bareEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} could not be started`);
  guard ??= startGuard();
  guard.watch(pid);
  const { output, stdout, log } = collect(child);
  const exited = once(child, 'exit').then(([code]) => {
    guard?.forget(pid);
    return code as number | null;
  });
  const program: Program = {
    pid,
    output,
    stdout,
    log,
    // Its last words come after its end.
    exited: Promise.all([exited, once(child, 'close')]).then(([code]) => code),
    ended: exited,
    stallOutput: (stalled) => void (stalled ? child.stdout.pause() : child.stdout.resume()),
    alive() {
      if (child.exitCode === null && child.signalCode === null) return;
      throw new Error(`${args[0]} ${pid} ended (${child.exitCode ?? child.signalCode}):\n${output()}`);
    },
    listens: (message) =>
      addressOf(log().find(({ msg }) => msg === message)) ?? addressInText(output(), message),
    until: (what, condition, timeoutMs = stopMs) =>
      eventually(
        what,
        () => {
          program.alive();
          return condition();
        },
        timeoutMs,
        20,
      ),
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      const code = await program.exited;
      clearTimeout(timer);
      running.delete(program);
      return code;
    },
    signal: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => void (await program.stop('SIGKILL')),
  };
  running.set(program, args);
  return program;
}

const listenSchema = z.object({ listen: z.object({ host: z.string(), port: z.number() }) });

function addressOf(line: LogLine | undefined): string | undefined {
  const parsed = listenSchema.safeParse(line);
  return parsed.success ? `${parsed.data.listen.host}:${parsed.data.listen.port}` : undefined;
}

/** The same of a log in the text format. */
function addressInText(output: string, message: string): string | undefined {
  const found = output.match(new RegExp(`  ?${message} listen=\\{"host":"([^"]+)","port":(\\d+)\\}`));
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}

function collect(child: ChildProcess): {
  output: () => string;
  stdout: () => string;
  log: () => readonly LogLine[];
} {
  const lines: string[] = [];
  const ofStdout: string[] = [];
  const records: LogLine[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (stream === child.stdout) ofStdout.push(line);
      try {
        const record = JSON.parse(line) as LogLine;
        if (typeof record.msg === 'string') records.push(record);
      } catch {
        // Not of our log: a crash, or Node's own warnings.
      }
    });
  }
  return { output: () => lines.join('\n'), stdout: () => ofStdout.join('\n'), log: () => records };
}
