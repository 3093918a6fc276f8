import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import process from 'node:process';

const program = 'taskset';
const able = availableParallelism() > 1 && spawnSync(program, ['-V']).status === 0;

/** Core of the process under test, and core of the generator with the upstream. */
export const cores = { underTest: 0, generator: 1 } as const;

/** Whether processes can be pinned here; without it the figures hold less. */
export function canPin(): boolean {
  return able;
}

/** Puts every thread of a process on one core; does nothing where the machine has no `taskset` or one core. */
export function pin(pid: number, core: number): void {
  if (able) spawnSync(program, ['-a', '-p', '-c', String(core), String(pid)]);
}

/** Puts every thread of a process on all cores again. */
export function unpin(pid: number): void {
  if (able) spawnSync(program, ['-a', '-p', '-c', `0-${availableParallelism() - 1}`, String(pid)]);
}

/** The generator's own process. */
export function pinGenerator(): void {
  pin(process.pid, cores.generator);
}
