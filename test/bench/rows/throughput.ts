import { plainRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { type Comparison, compare, type Ratio } from '../comparison.ts';
import { callerOf, type Lab } from '../lab.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { atLeast, type Result, type Row } from '../result.ts';

/** Prompt sizes of the requests-per-second rows, in KB. */
export const promptSizes = [1, 20, 400] as const;

/** Requests per second with 32 connections: upstream alone, bare proxy, gateway. */
export const throughput: Row = {
  name: 'throughput',
  run: async (lab) => {
    const results: Result[] = [];
    const targets = [undefined, await lab.bare(), await lab.gateway()];
    for (const size of promptSizes) {
      lab.progress(`requests/s with prompts of ${size} KB`);
      const comparison = await compareThroughput(lab, targets, size);
      const [straight, bare, gateway] = comparison.medians;
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

/** Compares targets (undefined: the upstream itself) at one prompt size. */
export async function compareThroughput(
  lab: Lab,
  targets: readonly (ProcessUnderTest | undefined)[],
  size: number,
): Promise<Comparison> {
  const { rounds, roundMilliseconds, warmUpMilliseconds } = lab.options;
  const measure = async (target: ProcessUnderTest | undefined, milliseconds: number, mark: Mark) => {
    const request = plainRequest(callerOf(target ?? lab.upstream), size * 1000);
    const { answers, seconds } = await runClosedLoop({
      ...{ port: (target ?? lab.upstream).port, connections: 32, milliseconds, onWindow: mark },
      ...{ request: () => request, expected: { bodyBytes: lab.upstream.plainBytes } },
    });
    return answers / seconds;
  };
  for (const target of targets) {
    await measure(target, target === undefined ? roundMilliseconds : warmUpMilliseconds, () => {});
  }
  return compare(targets, rounds, (target, meter) => measure(target, roundMilliseconds, meter.mark));
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
