import { below, type Result, type Row } from '../result.ts';
import { compareThroughput, promptSizes, throughputNote } from './throughput.ts';

/** The gateway with 100,000 keys and 1,000 nodes × 500 models: start, memory, and speed against itself without them. */
export const bigSet: Row = {
  name: 'big-set',
  run: async (lab) => {
    const gateway = await lab.gateway();
    const big = await lab.bigGateway();
    const atReady = big.residentBytes() / 1e6;
    const results: Result[] = [
      {
        ...{ row: 'big-set', measure: 'big set: time to ready' },
        ...below(15, big.readyMilliseconds / 1000, 's'),
        ...{ note: `small set ${(gateway.readyMilliseconds / 1000).toFixed(2)} s`, figures: {} },
      },
    ];
    for (const size of promptSizes) {
      lab.progress(`requests/s with the big set, prompts of ${size} KB`);
      const comparison = await compareThroughput(lab, [gateway, big], size);
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
      ...below(600, Math.max(atReady, afterLoad), 'MB'),
      note: `at ready ${atReady.toFixed(0)} MB, after traffic ${afterLoad.toFixed(0)} MB, small set ${(gateway.residentBytes() / 1e6).toFixed(0)} MB`,
      figures: { atReady, afterLoad },
    });
    return results;
  },
};
