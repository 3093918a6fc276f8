import { setTimeout as delay } from 'node:timers/promises';
import { streamRequest } from '../../bench-requests.ts';
import { callerOf, type Lab } from '../../lab.ts';
import { LoadConnection } from '../../load-connection.ts';
import type { ProcessUnderTest } from '../../process-under-test.ts';
import { fineProcessorSeconds } from '../../processor-time.ts';
import { below, type Row } from '../../result.ts';
import { settle } from '../../settle.ts';
import { openFilesLimit } from '../behind-wall.ts';

const row = 'open-streams';
const manyStreams = 8000;
/** Each stream is written to once in this time while its node is silent. */
const keepAliveMilliseconds = 15_000;
/** Keep-alives of each that are waited for. */
const keepAlivesEach = 4;
const keepAliveLine = Buffer.from('\n: ');
const patienceMilliseconds = 60_000;

/** What streams cost whose node is silent: processor time, memory, and that each gets its keep-alives. */
export const openStreams: Row = {
  name: row,
  run: async (lab) => {
    const count = lab.options.check ? lab.options.idleStreams : manyStreams;
    const limit = openFilesLimit();
    if (limit < 2 * count + 1000) {
      throw new Error(
        `${count} streams need ${2 * count + 1000} open files, and the limit is ${limit}: raise it with \`ulimit -n 20000\``,
      );
    }
    lab.progress(`${count} open streams, silent but for keep-alives`);
    const gateway = await lab.fresh.gateway();
    try {
      await settle(gateway);
      const { share, bytes, keepAlives, seconds } = await hold(lab, gateway, count);
      const each = `${((share / count) * 1e6).toFixed(2)} µs a second each`;
      const written = `${keepAlives} keep-alives in ${seconds.toFixed(0)} s`;
      return [
        {
          ...{
            row,
            measure: `${count} open streams: processor time`,
            ...below(2, share * 100, '% of a core'),
          },
          ...{ note: `${each}; ${written}`, figures: { share, keepAlives, seconds } },
        },
        {
          ...{ row, measure: `${count} open streams: memory`, ...below(450, bytes / 1e6, 'MB') },
          ...{ note: 'resident memory of the whole process', figures: { bytes } },
        },
      ];
    } finally {
      await gateway.stop();
    }
  },
};

/** Opens streams and looks at the process for `keepAlivesEach` of each; throws when one is lost or gets fewer. */
async function hold(lab: Lab, gateway: ProcessUnderTest, count: number) {
  const connections: LoadConnection[] = [];
  const lines = new Map<LoadConnection, number>();
  let failure: Error | undefined;
  const answeredBefore = lab.upstream.answered();
  const begun = () => lab.upstream.answered() - answeredBefore;
  const until = async (reached: () => boolean, what: string) => {
    const from = performance.now();
    while (!reached() && failure === undefined) {
      if (performance.now() - from > patienceMilliseconds) throw new Error(`${what}: not within a minute`);
      await delay(5);
    }
    if (failure !== undefined) throw failure;
  };
  try {
    for (let index = 0; index < count; index++) {
      const connection = new LoadConnection(index, gateway.port, {
        onLines: (one, now) => lines.set(one, now),
        onAnswer: (_one, fault) => {
          failure ??= new Error(`an open stream ended: ${fault}`);
        },
        onClose: (_one, reason) => {
          failure ??= new Error(`an open stream was lost: ${reason}`);
        },
      });
      connections.push(connection);
      await connection.ready;
      connection.send(streamRequest(callerOf(gateway), 'idle', index), { marker: keepAliveLine });
      if (connections.length - begun() > 100) {
        await until(() => connections.length - begun() < 50, 'streams begin');
      }
    }
    await until(() => begun() === count, 'streams begin');
    await delay(lab.options.check ? 100 : 2000);
    const linesBefore = sum(lines);
    const [before, from] = [fineProcessorSeconds(gateway.pid), performance.now()];
    // The heap is marked once meanwhile, for what the openings left: 1 % of a core over 30 s, half of it over 60.
    await delay(lab.options.check ? 500 : keepAlivesEach * keepAliveMilliseconds);
    const seconds = (performance.now() - from) / 1000;
    const share = (fineProcessorSeconds(gateway.pid) - before) / seconds;
    const keepAlives = sum(lines) - linesBefore;
    if (failure !== undefined) throw failure;
    const silent = connections.filter((one) => (lines.get(one) ?? 0) < keepAlivesEach).length;
    if (!lab.options.check && silent > 0)
      throw new Error(`${silent} of ${count} streams got fewer than ${keepAlivesEach} keep-alives`);
    return { share, keepAlives, seconds, bytes: gateway.residentBytes() };
  } finally {
    for (const connection of connections) connection.close();
  }
}

function sum(lines: ReadonlyMap<LoadConnection, number>): number {
  return [...lines.values()].reduce((total, one) => total + one, 0);
}
