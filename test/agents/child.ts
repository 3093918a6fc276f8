import { spawn } from 'node:child_process';
import type { Guard } from '../support/guard.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** It is killed with its group after this time. */
  readonly timeoutMs: number;
  readonly guard: Guard;
}

/** A process in a group of its own. */
export interface Child extends AsyncDisposable {
  stdout(): string;
  /** The end of what it printed, on both. */
  tail(): string;
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

/** Starts a program without standard input. The group dies with this process at the latest. */
export function startChild({ command, args, cwd, env, timeoutMs, guard }: ChildOptions): Child {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const { pid } = child;
  let stdout = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output = (output + text).slice(-8000);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-8000);
  });
  if (pid !== undefined) guard.watch(pid);
  const kill = (): void => {
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group is gone.
    }
  };
  const timer = setTimeout(kill, timeoutMs);
  const exited = new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      output += error.message;
      resolve(null);
    });
    // What the program has left behind in its group would keep the pipes open.
    child.on('exit', kill);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (pid !== undefined) guard.forget(pid);
      resolve(code);
    });
  });
  return {
    stdout: () => stdout,
    tail: () => output,
    exited,
    async [Symbol.asyncDispose]() {
      kill();
      await exited;
    },
  };
}
