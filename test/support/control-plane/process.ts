import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Guard } from '../guard.ts';

const pollEveryMs = 100;
const startAttempts = 3;

/** A running server of the control plane. */
export interface ServerProcess {
  readonly pid: number;
  /** Sends the signal, then SIGKILL if it has not ended within 10 seconds. Resolves when the process is gone. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

export interface ServerCommand {
  name: string;
  binary: string;
  /** `--name=value` for each entry. */
  flags: Record<string, string>;
  /** More variables for its environment. */
  env?: Record<string, string> | undefined;
  /** What it writes goes here, appended; shown when it does not start. */
  logFile: string;
  timeoutMs: number;
  ready(signal: AbortSignal): Promise<boolean>;
}

/**
 * Starts a server and waits until it is ready.
 *
 * @throws when it ends or is not ready in time, with the last lines of its log.
 */
export async function startServer(command: ServerCommand, guard: Guard): Promise<ServerProcess> {
  const { name, logFile, timeoutMs } = command;
  const child = spawnServer(command, guard);
  const stop = (signal: NodeJS.Signals) => stopChild(child, signal);
  const deadline = Date.now() + timeoutMs;
  while (!(await readyNow(command))) {
    if (hasEnded(child)) {
      throw new Error(
        `${name} ended before it was ready (${child.exitCode ?? child.signalCode}):\n${tail(logFile)}`,
      );
    }
    if (Date.now() > deadline) {
      await stop('SIGKILL');
      throw new Error(`${name} was not ready within ${timeoutMs / 1000} s:\n${tail(logFile)}`);
    }
    await sleep(pollEveryMs);
  }
  // Another program may have answered on the port while ours failed to get it.
  if (child.pid === undefined || hasEnded(child)) throw new Error(`${name} ended:\n${tail(logFile)}`);
  return { pid: child.pid, stop };
}

/** Calls `start` with a free port, again with another one when somebody took it in between. */
export async function withFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort());
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('address already in use');
      if (!taken || attempt === startAttempts) throw error;
    }
  }
}

function spawnServer({ binary, flags, env, logFile }: ServerCommand, guard: Guard): ChildProcess {
  const log = openSync(logFile, 'a', 0o600);
  const flagList = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  // Detached: a Ctrl-C in the terminal ends the tests, and they end their servers in the right order.
  const child = spawn(binary, flagList, {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
    detached: true,
  });
  closeSync(log);
  child.unref();
  const { pid } = child;
  child.on('error', () => undefined);
  if (pid !== undefined) {
    guard.watch(pid);
    child.on('exit', () => guard.forget(pid));
  }
  return child;
}

async function readyNow({ ready }: ServerCommand): Promise<boolean> {
  return ready(AbortSignal.timeout(2_000)).catch(() => false);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function stopChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.ref();
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}

function tail(logFile: string): string {
  const text = readFileSync(logFile, 'utf8');
  return `${text.slice(-6_000).split('\n').slice(-25).join('\n')}\n(whole log: ${logFile})`;
}

/**
 * A free port below the ranges from which systems pick ports for outgoing connections. While the API server is stopped,
 * such a connection could take its port, or one that retries against it could even connect to itself.
 */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port between 20000 and 29999 on 127.0.0.1');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
