import { readdirSync, readFileSync } from 'node:fs';

// Linux counts processor time in ticks of 10 ms, whatever the kernel's own clock is.
const ticksPerSecond = 100;

/** Processor seconds that a process has used; NaN where the system does not tell. */
export function processorSeconds(pid: number): number {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The same to the microsecond, of the threads that still run: for what takes less than seconds. */
export function fineProcessorSeconds(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((id) => Number(read(`/proc/${pid}/task/${id}/schedstat`).split(' ')[0]));
    return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e9;
  } catch {
    return Number.NaN;
  }
}

/** Seconds for which a core has had nothing to do; NaN where the system does not tell. */
export function idleSeconds(core: number | undefined): number {
  const fields = new RegExp(`^cpu${core} (.*)$`, 'm').exec(read('/proc/stat'))?.[1]?.split(' ') ?? [];
  return (Number(fields[3]) + Number(fields[4])) / ticksPerSecond;
}

/** Resident memory of a process in bytes; NaN where the system does not tell. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1]) * 1024;
}

/** The most memory that a process had resident so far, in bytes; NaN where the system does not tell. */
export function peakResidentBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1]) * 1024;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
