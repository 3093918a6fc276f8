import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { type Done, type Jobs, jobs } from './jobs.ts';
import type { Asked, Told } from './large-work.ts';

/** Below the event loop, where processors are short; enough of them is left for large bodies to get on. */
const niceness = 10;

// Of a thread alone that is so on Linux; elsewhere it would be the whole process.
if (process.platform === 'linux') {
  try {
    setPriority(niceness);
  } catch {
    // Where the system forbids it, the thread works at the priority of all others.
  }
}

const port = parentPort;
if (port === null) throw new Error('this file is the thread of large-work.ts');
port.on('message', ({ kind, wish }: Asked) => {
  try {
    const { result, transfer } = (jobs[kind] as (wish: unknown) => Done<Jobs[keyof Jobs]['result']>)(wish);
    port.postMessage({ result } satisfies Told, [...transfer]);
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error('something was thrown');
    port.postMessage({ fault: { name, message, stack } } satisfies Told);
  }
});
