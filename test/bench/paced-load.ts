import { setTimeout as delay } from 'node:timers/promises';
import { type Expected, LoadConnection } from './load-connection.ts';

export interface PacedLoad {
  port: number;
  /** Requests per second, whatever the answers do. */
  rate: number;
  milliseconds: number;
  request: Buffer;
  expected: Expected;
}

const maximumConnections = 512;

/**
 * Sends at a fixed rate and returns each answer's latency in milliseconds, from the moment the request was due. Slow answers do
 * not slow the sending, so a stall counts for every request it delays. Throws at the first wrong answer.
 */
export async function runPacedLoad(load: PacedLoad): Promise<number[]> {
  const latencies: number[] = [];
  const idle: LoadConnection[] = [];
  const all: LoadConnection[] = [];
  const due: number[] = [];
  let failure: Error | undefined;
  const send = (connection: LoadConnection, dueTime: number) => {
    connection.send(load.request, load.expected);
    connection.startTime = dueTime;
  };
  const free = (connection: LoadConnection) => {
    const next = due.shift();
    if (next === undefined) idle.push(connection);
    else send(connection, next);
  };
  const open = () => {
    const connection = new LoadConnection(all.length, load.port, {
      onAnswer: (answered, fault) => {
        if (fault !== undefined) failure ??= new Error(`wrong answer: ${fault}`);
        latencies.push(performance.now() - answered.startTime);
        free(answered);
      },
      onClose: (_connection, reason) => {
        failure ??= new Error(`connection lost: ${reason}`);
      },
    });
    all.push(connection);
    return connection.ready;
  };
  try {
    for (let index = 0; index < 32; index++) {
      await open();
      const connection = all.at(-1);
      if (connection !== undefined) idle.push(connection);
    }
    const start = performance.now();
    let sent = 0;
    while (performance.now() - start < load.milliseconds && failure === undefined) {
      const now = performance.now();
      for (const wanted = ((now - start) / 1000) * load.rate; sent < wanted; sent++) {
        const connection = idle.pop();
        if (connection !== undefined) send(connection, now);
        else {
          due.push(now);
          if (all.length < maximumConnections) {
            const before = all.length;
            open().then(
              () => {
                const opened = all[before];
                if (opened !== undefined) free(opened);
              },
              (error: Error) => {
                failure ??= error;
              },
            );
          }
        }
      }
      await delay(1);
    }
    for (let waited = 0; latencies.length < sent && waited < 1500 && failure === undefined; waited++)
      await delay(10);
    if (failure !== undefined) throw failure;
    if (latencies.length < sent) throw new Error(`${sent - latencies.length} of ${sent} requests unanswered`);
    return latencies;
  } finally {
    for (const connection of all) connection.close();
  }
}
