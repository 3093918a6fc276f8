import { type Expected, LoadConnection } from './load-connection.ts';

export interface StreamsInTurn {
  port: number;
  number: number;
  request: Buffer;
  expected: Expected;
  /** How many, one after the other on one connection. */
  streams: number;
  /** Called for each line that counts, with its place in its stream. */
  onLine: (line: number) => void;
}

const patienceMilliseconds = 60_000;

/** Runs streams until all are complete. Throws at the first wrong answer or lost connection, and after a minute. */
export function runStreamsInTurn(turn: StreamsInTurn): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = turn.streams;
    let seen = 0;
    const end = (fault: string | undefined) => {
      clearTimeout(late);
      connection.close();
      if (fault === undefined) resolve();
      else reject(new Error(fault));
    };
    const late = setTimeout(() => end('a stream did not end in a minute'), patienceMilliseconds);
    const connection = new LoadConnection(turn.number, turn.port, {
      onLines: (_connection, lines) => {
        for (; seen < lines; seen++) turn.onLine(seen);
      },
      onAnswer: (_connection, fault) => {
        left -= 1;
        seen = 0;
        if (fault !== undefined) end(`wrong answer: ${fault}`);
        else if (left === 0) end(undefined);
        else connection.send(turn.request, turn.expected);
      },
      onClose: (_connection, reason) => end(`connection lost: ${reason}`),
    });
    connection.ready.then(() => connection.send(turn.request, turn.expected), reject);
  });
}
