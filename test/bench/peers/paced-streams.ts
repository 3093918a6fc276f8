import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, streamRequest } from '../bench-requests.ts';
import { youngCollector } from '../collect-young.ts';
import type { FastUpstream } from '../fast-upstream.ts';
import { streamChunks } from '../lab.ts';
import { LoadConnection } from '../load-connection.ts';

export interface PacedStreams {
  readonly upstream: FastUpstream;
  readonly caller: Caller;
  /** Chunks per second, all streams together. */
  readonly rate: number;
  readonly milliseconds: number;
}

/** How often the upstream writes a chunk of one stream. */
const everyMilliseconds = 10;
const firstNumber = 900_000;
const patienceMilliseconds = 20_000;

/**
 * Lets the upstream write chunks at a fixed rate, whatever arrives, and answers by how much the time between two chunks of a
 * stream was longer (or shorter) for the caller than for the upstream, in milliseconds. Throws at the first wrong answer.
 */
export async function runPacedStreams({
  upstream,
  caller,
  rate,
  milliseconds,
}: PacedStreams): Promise<number[]> {
  const count = Math.max(1, Math.round((rate * everyMilliseconds) / 1000));
  const gaps: number[] = [];
  const streams: Stream[] = [];
  const begun = new Set<Stream>();
  const byConnection = new Map<LoadConnection, Stream>();
  let complete = 0;
  let failure: Error | undefined;
  const start = (stream: Stream) => {
    stream.sent = 0;
    stream.received = 0;
    const { connection } = stream;
    const number = firstNumber + stream.place;
    connection.send(streamRequest(caller, 'stream', number), { dataLines: upstream.streamLines });
  };
  const arrived = (connection: LoadConnection, lines: number) => {
    const stream = byConnection.get(connection);
    if (stream === undefined) return;
    const now = performance.now();
    if (stream.received === 0) begun.add(stream);
    // The times of the first chunk are the first chunk's row; two that come together were together late.
    for (; stream.received < Math.min(lines, streamChunks); stream.received++) {
      const late = now - (stream.times[stream.received] ?? now);
      if (stream.received > 1) gaps.push(late - stream.late);
      stream.late = late;
    }
  };
  try {
    for (let place = 0; place < count; place++) {
      const connection = new LoadConnection(firstNumber + place, caller.port, {
        onLines: arrived,
        onAnswer: (one, fault) => {
          if (fault !== undefined) failure ??= new Error(`wrong answer: ${fault}`);
          complete += 1;
          const stream = byConnection.get(one);
          if (stream !== undefined) begun.delete(stream);
        },
        onClose: (_one, reason) => {
          failure ??= new Error(`connection lost: ${reason}`);
        },
      });
      await connection.ready;
      const stream = { connection, place, sent: 0, received: 0, late: 0, times: [] };
      streams.push(stream);
      byConnection.set(connection, stream);
    }
    const goOn = () => failure === undefined;
    for (let from = performance.now(); performance.now() - from < milliseconds && goOn(); ) {
      complete = 0;
      for (const stream of streams) start(stream);
      for (const begin = performance.now(); begun.size < count && goOn(); await delay(1)) {
        if (performance.now() - begin > patienceMilliseconds) throw new Error('streams did not begin');
      }
      await writeChunks(upstream, streams, goOn);
      for (const begin = performance.now(); complete < count && goOn(); await delay(1)) {
        if (performance.now() - begin > patienceMilliseconds) throw new Error('streams did not end');
      }
    }
    if (failure !== undefined) throw failure;
    return gaps;
  } finally {
    for (const { connection } of streams) connection.close();
  }
}

interface Stream {
  readonly connection: LoadConnection;
  readonly place: number;
  /** Chunks written after the first one. */
  sent: number;
  received: number;
  /** How late the last chunk was. */
  late: number;
  /** When the upstream wrote each chunk. */
  readonly times: number[];
}

/** Writes all chunks of all streams, evenly over time, and the ends. */
async function writeChunks(
  upstream: FastUpstream,
  streams: readonly Stream[],
  goOn: () => boolean,
): Promise<void> {
  const total = streams.length * streamChunks;
  const collectYoung = youngCollector();
  const from = performance.now();
  for (let written = 0; written < total && goOn(); await delay(1)) {
    collectYoung();
    const due = Math.min(total, ((performance.now() - from) / everyMilliseconds) * streams.length);
    for (; written < due; written++) {
      const stream = streams[written % streams.length];
      if (stream === undefined) return;
      stream.sent += 1;
      stream.times[stream.sent] = performance.now();
      upstream.advance(firstNumber + stream.place);
    }
  }
}
