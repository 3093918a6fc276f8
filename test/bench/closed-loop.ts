import { setTimeout as delay } from 'node:timers/promises';
import { type Expected, LoadConnection } from './load-connection.ts';

export interface ClosedLoop {
  port: number;
  connections: number;
  milliseconds: number;
  /** The request of connection `number`. */
  request: (number: number) => Buffer;
  expected: Expected;
  /** Called for each piece of a stream that arrived. */
  onPiece?: (number: number) => void;
  /** Called when counting begins and when it ends. */
  onWindow?: (edge: 'start' | 'end') => void;
}

export interface ClosedLoopResult {
  seconds: number;
  answers: number;
  pieces: number;
}

/** A round is longer when nothing is complete within it, up to this. */
const patienceMilliseconds = 10_000;

// Numbers are never used twice, so that a late piece of an earlier round cannot advance a stream of this one.
let nextNumber = 1;

/**
 * Keeps one request under way on each connection for a while and counts what is complete. Throws at the first wrong
 * answer, closed connection, or when nothing moves: figures beside errors mean nothing.
 */
export async function runClosedLoop(loop: ClosedLoop): Promise<ClosedLoopResult> {
  let answers = 0;
  let pieces = 0;
  let running = true;
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const seen = new Map<LoadConnection, number>();
  const pieceArrived = (connection: LoadConnection, lines: number) => {
    for (let line = seen.get(connection) ?? 0; line < lines; line++) {
      pieces += 1;
      loop.onPiece?.(connection.number);
    }
    seen.set(connection, lines);
  };
  const connections = Array.from({ length: loop.connections }, () => {
    return new LoadConnection(nextNumber++, loop.port, {
      onLines: pieceArrived,
      onAnswer: (connection, fault) => {
        if (fault !== undefined) fail(new Error(`wrong answer: ${fault}`));
        answers += 1;
        if (loop.onPiece !== undefined) pieces += 1;
        seen.set(connection, 0);
        if (running) connection.send(loop.request(connection.number), loop.expected);
      },
      onClose: (_connection, reason) => fail(new Error(`connection lost: ${reason}`)),
    });
  });
  const measure = async () => {
    await Promise.all(connections.map(({ ready }) => ready));
    for (const connection of connections) connection.send(loop.request(connection.number), loop.expected);
    await delay(Math.min(200, loop.milliseconds / 4));
    const before = { answers, pieces };
    const start = performance.now();
    loop.onWindow?.('start');
    await delay(loop.milliseconds);
    const moved = () => answers + pieces > before.answers + before.pieces;
    while (!moved() && performance.now() - start < patienceMilliseconds) await delay(100);
    loop.onWindow?.('end');
    const seconds = (performance.now() - start) / 1000;
    const result = { seconds, answers: answers - before.answers, pieces: pieces - before.pieces };
    if (!moved()) throw new Error(`nothing moved for ${seconds.toFixed(1)} s`);
    return result;
  };
  try {
    return await Promise.race([measure(), failed]);
  } finally {
    running = false;
    for (const connection of connections) connection.close();
  }
}
