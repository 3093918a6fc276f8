import { spawnSync } from 'node:child_process';
import process from 'node:process';

const program = 'taskset';

/** Cores this process may use, as `taskset` lists them; fewer than two where processes cannot be pinned. */
const allowed = expandList(
  /list: (.*)/.exec(
    spawnSync(program, ['-p', '-c', String(process.pid)], { encoding: 'utf8' }).stdout ?? '',
  )?.[1],
);

/** Whether processes can be pinned here; without it the figures hold less. */
export function canPin(): boolean {
  return allowed.length > 1;
}

/** The core of the process under test; undefined where processes cannot be pinned. */
export function coreUnderTest(): number | undefined {
  return coresInUse()[0];
}

/** The core under test and the generator's; none where processes cannot be pinned. */
export function coresInUse(): number[] {
  return canPin() ? allowed.slice(0, 2) : [];
}

/** Puts every thread of the process under test on the first core; does nothing where that cannot be done. */
export function pinUnderTest(pid: number): void {
  setCores(pid, String(allowed[0]));
}

/** Lets every thread of a process use all cores. */
export function unpin(pid: number): void {
  setCores(pid, allowed.join(','));
}

/** Puts this process, generator and upstream, on the second core. */
export function pinGenerator(): void {
  setCores(process.pid, String(allowed[1]));
}

function setCores(pid: number, cores: string): void {
  if (canPin()) spawnSync(program, ['-a', '-p', '-c', cores, String(pid)]);
}

/** `0-2,5` → 0, 1, 2, 5. */
function expandList(list: string | undefined): number[] {
  if (list === undefined) return [];
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
