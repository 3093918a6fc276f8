import type { Lab } from '../lab.ts';
import { below, type Result, type Row } from '../result.ts';
import { settle } from '../settle.ts';
import { compareThroughput, promptSizes, throughputNote } from './throughput.ts';

/** The gateway with 9,900 keys and 100 nodes of 500 models: start, memory, and speed compared with itself without them. */
export const bigSet: Row = {
  name: 'big-set',
  run: async (lab) => {
    const gateway = await lab.gateway();
    const big = await lab.bigGateway();
    const atReady = big.residentBytes() / 1e6;
    await big.probe('start');
    const settleSeconds = await settle(big);
    const { stalls } = (await big.probe('stop')) as { stalls: number[] };
    const settled = big.residentBytes() / 1e6;
    const worst = Math.max(0, ...stalls).toFixed(0);
    const results: Result[] = [
      {
        ...{ row: 'big-set', measure: 'big set: time to ready' },
        ...below(5, big.readyMilliseconds / 1000, 's'),
        ...{
          note: `small set ${(gateway.readyMilliseconds / 1000).toFixed(2)} s; then busy for ${settleSeconds.toFixed(0)} s, event loop blocked ≤ ${worst} ms`,
          figures: { settleSeconds, stalls },
        },
      },
    ];
    for (const size of promptSizes) {
      lab.progress(`requests/s with the big set, prompts of ${size} KB`);
      const { warmUpMilliseconds, rewarmMilliseconds } = lab.options;
      const warmUp = size === promptSizes[0] ? warmUpMilliseconds : rewarmMilliseconds;
      const comparison = await compareThroughput(lab, [gateway, big], size, warmUp);
      const ok = comparison.ratio >= 0.9;
      results.push({
        ...{ row: 'big-set', measure: `requests/s, ${size} KB prompts: with big set ÷ without` },
        ...{ goal: '≥ 0.90', measured: comparison.ratio.toFixed(2), ok },
        ...{ note: throughputNote(comparison), figures: { ...comparison } },
      });
    }
    const afterLoad = big.residentBytes() / 1e6;
    results.splice(1, 0, {
      ...{ row: 'big-set', measure: 'big set: resident memory' },
      ...below(400, Math.max(atReady, settled, afterLoad), 'MB'),
      note: `at ready ${atReady.toFixed(0)} MB, settled ${settled.toFixed(0)} MB, after traffic ${afterLoad.toFixed(0)} MB, small set ${(gateway.residentBytes() / 1e6).toFixed(0)} MB`,
      figures: { atReady, settled, afterLoad },
    });
    if (lab.options.gateway === 'gateway') results.push(...(await measureRestart(lab)));
    return results;
  },
};

/** The second start: beside the manifests there are 9,900 statuses and 100 model lists to read. */
async function measureRestart(lab: Lab): Promise<Result[]> {
  const big = await lab.restartBigGateway();
  const atReady = big.residentBytes() / 1e6;
  await big.probe('start');
  const settleSeconds = await settle(big);
  const { stalls } = (await big.probe('stop')) as { stalls: number[] };
  const settled = big.residentBytes() / 1e6;
  const worst = Math.max(0, ...stalls).toFixed(0);
  return [
    {
      ...{ row: 'big-set', measure: 'big set, started again: time to ready' },
      ...below(5, big.readyMilliseconds / 1000, 's'),
      ...{ note: `then busy for ${settleSeconds.toFixed(0)} s, event loop blocked ≤ ${worst} ms` },
      figures: { settleSeconds, stalls },
    },
    {
      ...{ row: 'big-set', measure: 'big set, started again: resident memory' },
      ...below(400, Math.max(atReady, settled), 'MB'),
      note: `at ready ${atReady.toFixed(0)} MB, settled ${settled.toFixed(0)} MB`,
      figures: { atReady, settled },
    },
  ];
}
