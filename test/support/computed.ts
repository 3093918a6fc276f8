import process from 'node:process';

/**
 * Milliseconds for which this thread has computed so far. For costs of pure code: on a machine that has other work to do
 * the clock on the wall runs on, this one waits.
 */
export function computedMs(): number {
  // Node.js 22 knows the whole process alone.
  const known: { threadCpuUsage?: () => NodeJS.CpuUsage; cpuUsage(): NodeJS.CpuUsage } = process;
  const { user, system } = known.threadCpuUsage?.() ?? known.cpuUsage();
  return (user + system) / 1_000;
}
