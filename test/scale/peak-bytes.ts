import { readFileSync } from 'node:fs';

/** The most memory that a process ever had resident, in bytes; NaN where the system does not tell. */
export function peakBytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}
