import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Ends processes and removes folders when this process ends without having done it, even by kill -9. */
export interface Guard {
  /** The process group of this leader is killed when this process is gone. */
  watch(pid: number): void;
  /** To be called as soon as the process has ended: its pid may soon be another's. */
  forget(pid: number): void;
  watchFolder(path: string): void;
  keepFolder(path: string): void;
  /** Kills and removes what is still watched, and ends the guard. */
  release(): void;
}

/** Starts a guard: a small process that waits for this one to end. It does not keep this process alive. */
export function startGuard(): Guard {
  const script = fileURLToPath(new URL('./guard-process.ts', import.meta.url));
  // A group of its own: a Ctrl-C in the terminal must not end the guard before it has done its work.
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.unref();
  const { stdin } = child;
  if (stdin instanceof Socket) stdin.unref();
  stdin.on('error', () => undefined);
  child.on('error', (error) => process.stderr.write(`guard of test processes: ${error.message}\n`));
  const say = (verb: string, argument: number | string) => stdin.write(`${verb} ${argument}\n`);
  return {
    watch: (pid) => say('watch', pid),
    forget: (pid) => say('forget', pid),
    watchFolder: (path) => say('folder', path),
    keepFolder: (path) => say('keep', path),
    release: () => stdin.end(),
  };
}
