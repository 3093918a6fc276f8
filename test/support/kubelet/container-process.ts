import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Guard } from '../guard.ts';
import type { SandboxCommand } from './sandbox.ts';

/** The process of a container. */
export interface ContainerProcess {
  readonly pid: number;
  /** What it printed so far, on stdout and stderr, line by line. */
  readonly lines: readonly string[];
  /** As a container's status has it: 128 + the signal's number where a signal ended it. */
  readonly exited: Promise<number>;
  signal(name: NodeJS.Signals): void;
}

const signalNumbers: Partial<Record<NodeJS.Signals, number>> = { SIGKILL: 9, SIGTERM: 15, SIGINT: 2 };

/** Starts it and answers at once. It ends with the test process at the latest. @throws when there is no such program */
export function startContainerProcess(command: SandboxCommand, guard: Guard): ContainerProcess {
  const child = spawn(command.command, command.args, {
    env: command.env,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command.command} could not be started`);
  guard.watch(pid);
  const ended = once(child, 'exit').then(([code, signal]) => {
    guard.forget(pid);
    return (code as number | null) ?? 128 + (signalNumbers[signal as NodeJS.Signals] ?? 0);
  });
  const { lines, closed } = collect(child);
  return {
    pid,
    lines,
    // Its last words come after its end.
    exited: Promise.all([ended, closed]).then(([code]) => code),
    signal: (name) => void child.kill(name),
  };
}

function collect(child: ChildProcess): { lines: string[]; closed: Promise<unknown> } {
  const lines: string[] = [];
  const closed = [child.stdout, child.stderr].map((stream) => {
    if (stream === null) return undefined;
    const reader = createInterface({ input: stream }).on('line', (line) => lines.push(line));
    return once(reader, 'close');
  });
  return { lines, closed: Promise.all(closed) };
}
