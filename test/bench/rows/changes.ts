import { setTimeout as delay } from 'node:timers/promises';
import { changeKey, changeNode } from '../bench-manifests.ts';
import { plainRequest } from '../bench-requests.ts';
import { callerOf, type Lab } from '../lab.ts';
import { runPacedLoad } from '../paced-load.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { below, type Row } from '../result.ts';
import { settle } from '../settle.ts';
import { arrivalDelay } from '../statistics.ts';

const everyMilliseconds = 250;
const rate = 500;

/** Delay of the event loop while one key or one node of the big set changes every 250 ms, under 500 requests/s. */
export const changes: Row = {
  name: 'changes',
  run: async (lab) => {
    if (lab.options.gateway === 'bare') return [];
    const big = await lab.bigGateway();
    await settle(big);
    await watch(lab, big, async () => {}, 4);
    lab.progress('event-loop delay without a change');
    const calm = await watch(lab, big, async () => {}, lab.options.changes / 2);
    lab.progress('event-loop delay while a key or a node changes');
    const changed = await watch(lab, big, (index) => change(lab, index), lab.options.changes);
    const p99 = arrivalDelay(changed.stalls, changed.milliseconds, 0.99);
    const calmP99 = arrivalDelay(calm.stalls, calm.milliseconds, 0.99);
    const [worst, calmWorst] = [changed, calm].map(({ stalls }) => Math.max(0, ...stalls).toFixed(1));
    return [
      {
        ...{ row: 'changes', measure: 'one key or node of the big set changes: event-loop delay, p99' },
        ...below(20, p99, 'ms'),
        note: `worst ${worst} ms; without a change p99 ${calmP99.toFixed(2)} ms, worst ${calmWorst} ms`,
        figures: { p99, calmP99, changed, calm },
      },
    ];
  },
};

interface Report {
  stalls: number[];
  milliseconds: number;
}

async function watch(lab: Lab, big: ProcessUnderTest, each: (index: number) => Promise<void>, count: number) {
  const load = runPacedLoad({
    ...{ port: big.port, rate, milliseconds: count * everyMilliseconds + 500 },
    ...{ request: plainRequest(callerOf(big), 1000), expected: { bodyBytes: lab.upstream.plainBytes } },
  });
  await delay(250);
  await big.probe('start');
  for (let index = 0; index < count; index++) {
    await each(index);
    await delay(everyMilliseconds);
  }
  const report = (await big.probe('stop')) as Report;
  await load;
  return report;
}

async function change(lab: Lab, index: number): Promise<void> {
  const set = lab.options.bigSet;
  if (index % 2 === 0) changeKey(lab.bigManifests, set, (index * 7919) % set.keys, `changed ${index}`);
  else changeNode(lab.bigManifests, lab.upstream.port, set, (index * 31) % set.nodes, 1 + (index % 100));
}
