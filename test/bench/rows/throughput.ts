import { plainRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { type Comparison, compare, type Ratio } from '../comparison.ts';
import { callerOf, type Lab } from '../lab.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { atLeast, type Result, type Row } from '../result.ts';
import { median } from '../statistics.ts';

/** Prompt sizes of the requests-per-second rows, in KB. */
export const promptSizes = [1, 20, 400] as const;

/** Requests per second with 32 connections: upstream alone, bare proxy, gateway. */
export const throughput: Row = {
  name: 'throughput',
  run: async (lab) => {
    const results: Result[] = [];
    const targets = [await lab.bare(), await lab.gateway()];
    const { warmUpMilliseconds, rewarmMilliseconds } = lab.options;
    for (const size of promptSizes) {
      lab.progress(`requests/s with prompts of ${size} KB`);
      const warmUp = size === promptSizes[0] ? warmUpMilliseconds : rewarmMilliseconds;
      const straight = await measureStraight(lab, (milliseconds) =>
        measureRate(lab, lab.upstream, size, milliseconds),
      );
      const comparison = await compareThroughput(lab, targets, size, warmUp);
      const [bare, gateway] = comparison.medians;
      const figures = { straight, bare, gateway, ...comparison };
      results.push({
        ...{ row: 'throughput', measure: `requests/s, ${size} KB prompts: gateway ÷ bare` },
        ...atLeast(0.85, comparison.ratio),
        ...{ note: throughputNote(comparison), figures },
      });
      results.push(headroom('throughput', `requests/s, ${size} KB prompts`, straight, [bare, gateway]));
    }
    return results;
  },
};

/** The upstream without a proxy: it is so much faster that a few rounds show it. The first one is warm-up. */
export async function measureStraight(
  lab: Lab,
  measure: (milliseconds: number) => Promise<number>,
): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < 8; round++) rates.push(await measure(lab.options.roundMilliseconds));
  return median(rates.slice(1));
}

/** Compares targets at one prompt size, after a load of `warmUp` milliseconds on each. */
export async function compareThroughput(
  lab: Lab,
  targets: readonly ProcessUnderTest[],
  size: number,
  warmUp: number,
): Promise<Comparison> {
  const { rounds, roundMilliseconds } = lab.options;
  for (const target of targets) await measureRate(lab, target, size, warmUp);
  return compare(targets, rounds, (target, meter) =>
    measureRate(lab, target, size, roundMilliseconds, meter.mark),
  );
}

async function measureRate(
  lab: Lab,
  target: { port: number },
  size: number,
  milliseconds: number,
  onWindow: Mark = () => {},
): Promise<number> {
  const request = plainRequest(callerOf(target), size * 1000);
  const { answers, seconds } = await runClosedLoop({
    ...{ port: target.port, connections: 32, milliseconds, onWindow },
    ...{ request: () => request, expected: { bodyBytes: lab.upstream.plainBytes } },
  });
  return answers / seconds;
}

/** The line that shows that generator and upstream are not what was measured. */
export function headroom(
  row: string,
  measure: string,
  straight: number | undefined,
  measured: readonly (number | undefined)[],
): Result {
  const factor = (straight ?? 0) / Math.max(...measured.map((value) => value ?? 0));
  const note = `straight ${straight?.toFixed(0)}/s`;
  const figures = { straight, factor };
  return { ...{ row, measure: `${measure}: straight ÷ fastest` }, ...atLeast(2, factor), note, figures };
}

export function throughputNote({
  medians,
  clockRatio,
  processorRatio,
  othersShare,
  ratio,
}: Ratio & Pick<Comparison, 'medians'>): string {
  const [bare, gateway] = medians.slice(-2).map((perSecond) => perSecond.toFixed(0));
  const busy = `others had ${(othersShare * 100).toFixed(0)} % of the core, so per CPU second`;
  const how =
    ratio === clockRatio
      ? `per CPU second ${processorRatio.toFixed(2)}`
      : `${busy}; by clock ${clockRatio.toFixed(2)}`;
  return `${gateway}/s : ${bare}/s; ${how}`;
}

type Mark = (edge: 'start' | 'end') => void;
