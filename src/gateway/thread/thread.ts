import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { Asked, Told } from './job-thread.ts';
import { type Done, type Jobs, jobs } from './jobs.ts';

/** A lower priority than the event loop's, for machines with few processors. */
const niceness = 10;

// On Linux the priority is the thread's; elsewhere it would be the whole process's.
if (process.platform === 'linux') {
  try {
    setPriority(niceness);
  } catch {
    // If the system forbids it, the thread keeps the usual priority.
  }
}

const port = parentPort;
if (port === null) throw new Error('this file is the thread of job-thread.ts');
port.on('message', ({ kind, wish }: Asked) => {
  try {
    const { result, transfer } = (jobs[kind] as (wish: unknown) => Done<Jobs[keyof Jobs]['result']>)(wish);
    port.postMessage({ result } satisfies Told, [...transfer]);
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error('something was thrown');
    port.postMessage({ fault: { name, message, stack } } satisfies Told);
  }
});
