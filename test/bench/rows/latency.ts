import { plainRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { callerOf } from '../lab.ts';
import { runPacedLoad } from '../paced-load.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { below, type Row } from '../result.ts';
import { median, percentile } from '../statistics.ts';

/** Latency that the gateway adds to the bare proxy's, both at half of the gateway's saturation rate, 1 KB prompts. */
export const latency: Row = {
  name: 'latency',
  run: async (lab) => {
    const { rounds, roundMilliseconds, warmUpMilliseconds } = lab.options;
    const [bare, gateway] = [await lab.bare(), await lab.gateway()];
    const expected = { bodyBytes: lab.upstream.plainBytes };
    const request = (target: ProcessUnderTest) => plainRequest(callerOf(target), 1000);
    const saturation = async (target: ProcessUnderTest, milliseconds: number) => {
      const bytes = request(target);
      const loop = { port: target.port, connections: 32, milliseconds, expected };
      const { answers, seconds } = await runClosedLoop({ ...loop, request: () => bytes });
      return answers / seconds;
    };
    lab.progress('latency at half the saturation rate');
    for (const target of [bare, gateway]) await saturation(target, warmUpMilliseconds);
    const atMost = async (target: ProcessUnderTest) => saturation(target, roundMilliseconds);
    const rate = Math.min(await atMost(gateway), await atMost(bare)) / 2;
    const measure = async (target: ProcessUnderTest) => {
      const milliseconds = roundMilliseconds * 2;
      const values = await runPacedLoad({
        port: target.port,
        rate,
        milliseconds,
        request: request(target),
        expected,
      });
      return { median: median(values), p99: percentile(values, 0.99) };
    };
    const pairs: Record<'bare' | 'gateway', Percentiles | undefined>[] = [];
    for (let round = 0; round < rounds; round++) {
      const first = round % 2 === 0 ? [bare, gateway] : [gateway, bare];
      const measured = new Map<ProcessUnderTest, Percentiles>();
      for (const target of first) measured.set(target, await measure(target));
      pairs.push({ bare: measured.get(bare), gateway: measured.get(gateway) });
    }
    return (['median', 'p99'] as const).map((which) => {
      const of = (name: 'bare' | 'gateway') => median(pairs.map((pair) => pair[name]?.[which] ?? Number.NaN));
      const added = median(
        pairs.map((pair) => (pair.gateway?.[which] ?? Number.NaN) - (pair.bare?.[which] ?? Number.NaN)),
      );
      const note = `gateway ${of('gateway').toFixed(2)} ms, bare ${of('bare').toFixed(2)} ms at ${rate.toFixed(0)}/s`;
      return {
        ...{ row: 'latency', measure: `latency over the bare proxy, ${which}` },
        ...below(which === 'median' ? 1 : 5, added, 'ms'),
        ...{ note, figures: { rate, added, pairs } },
      };
    });
  },
};

interface Percentiles {
  median: number;
  p99: number;
}
