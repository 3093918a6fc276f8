import { setTimeout as delay } from 'node:timers/promises';
import { type BenchFormat, streamRequest } from '../bench-requests.ts';
import { callerOf } from '../lab.ts';
import { LoadConnection } from '../load-connection.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { below, type Row } from '../result.ts';

/** Resident memory per open stream that has had its first chunk and waits for the next. */
export const idleStreams: Row = {
  name: 'idle-streams',
  run: async (lab) => {
    const count = lab.options.idleStreams;
    lab.progress(`${count} idle streams through the bare proxy`);
    const bare = await ofFresh(lab.fresh.bare, count);
    lab.progress(`${count} idle streams through the gateway`);
    const gateway = await ofFresh(lab.fresh.gateway, count);
    return [
      {
        ...{ row: 'idle-streams', measure: `${count} idle open streams: memory of each` },
        ...below(60, gateway, 'KB'),
        ...{ note: `bare proxy ${bare.toFixed(1)} KB`, figures: { bare, gateway } },
      },
    ];
  },
};

/** Measures a process of its own: memory that earlier rows left to one would be used again, and hide the growth. */
export async function ofFresh(
  start: () => Promise<ProcessUnderTest>,
  count: number,
  format: BenchFormat = 'chat',
): Promise<number> {
  const target = await start();
  try {
    return await perStream(target, count, format);
  } finally {
    await target.stop();
  }
}

/** KB (1,000 bytes) of resident memory that each of `count` streams costs. */
async function perStream(target: ProcessUnderTest, count: number, format: BenchFormat): Promise<number> {
  // A few first: what the process needs once is not the streams' cost.
  await hold(target, Math.min(50, count), format, 300, () => {});
  await delay(500);
  const before = target.residentBytes();
  let during = before;
  await hold(target, count, format, 2000, () => {
    during = target.residentBytes();
  });
  return (during - before) / count / 1000;
}

/** Opens streams, waits until each has had its first chunk and some time more, calls `whileOpen`, and closes them. */
async function hold(
  target: ProcessUnderTest,
  count: number,
  format: BenchFormat,
  milliseconds: number,
  whileOpen: () => void,
): Promise<void> {
  const caller = callerOf(target);
  const connections: LoadConnection[] = [];
  const started = new Set<LoadConnection>();
  let failure: Error | undefined;
  try {
    for (let index = 0; index < count; index++) {
      const connection = new LoadConnection(index, target.port, {
        onLines: (one) => started.add(one),
        onAnswer: (_one, fault) => {
          failure ??= new Error(`an idle stream ended: ${fault}`);
        },
        onClose: (_one, reason) => {
          failure ??= new Error(`an idle stream was lost: ${reason}`);
        },
      });
      connections.push(connection);
      await connection.ready;
      connection.send(streamRequest(caller, 'idle', index, format), {});
      // As many under way as a backlog holds, and no more.
      while (connections.length - started.size > 100 && failure === undefined) await delay(1);
    }
    for (let waited = 0; started.size < count && waited < 1000 && failure === undefined; waited++)
      await delay(10);
    if (failure === undefined && started.size < count) {
      failure = new Error(`only ${started.size} of ${count} streams began`);
    }
    if (failure !== undefined) throw failure;
    await delay(milliseconds);
    whileOpen();
  } finally {
    for (const connection of connections) connection.close();
    await delay(1000);
  }
}
