import { setTimeout as delay } from 'node:timers/promises';
import { youngCollector } from './collect-young.ts';
import { type Expected, LoadConnection } from './load-connection.ts';

export interface PacedLoad {
  port: number;
  /** Requests per second, whatever the answers do. */
  rate: number;
  milliseconds: number;
  request: Buffer | ((number: number) => Buffer);
  expected: Expected;
  /** Called at the first line of each stream, with the number of its connection; latencies are then those of first lines. */
  onFirstLine?: (number: number) => void;
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
  let answers = 0;
  let failure: Error | undefined;
  const { request, onFirstLine } = load;
  const begun = new Set<LoadConnection>();
  const send = (connection: LoadConnection, dueTime: number) => {
    begun.delete(connection);
    connection.send(Buffer.isBuffer(request) ? request : request(connection.number), load.expected);
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
        if (onFirstLine === undefined) latencies.push(performance.now() - answered.startTime);
        answers += 1;
        free(answered);
      },
      onLines: (connection) => {
        if (onFirstLine === undefined || begun.has(connection)) return;
        begun.add(connection);
        latencies.push(performance.now() - connection.startTime);
        onFirstLine(connection.number);
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
    const collectYoung = youngCollector();
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
      collectYoung();
      await delay(1);
    }
    for (let waited = 0; answers < sent && waited < 1500 && failure === undefined; waited++) await delay(10);
    if (failure !== undefined) throw failure;
    if (answers < sent) throw new Error(`${sent - answers} of ${sent} requests unanswered`);
    return latencies;
  } finally {
    for (const connection of all) connection.close();
  }
}
