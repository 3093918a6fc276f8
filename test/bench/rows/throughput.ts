import { plainRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { type Comparison, compare, type Ratio } from '../comparison.ts';
import { callerOf, type Lab } from '../lab.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { atLeast, below, type Result, type Row } from '../result.ts';
import { median } from '../statistics.ts';

/** Prompt sizes of the requests-per-second rows, in KB. */
export const promptSizes = [1, 20, 400] as const;

/** Requests per second with 32 connections: bare proxy, gateway. */
export const throughput: Row = {
  name: 'throughput',
  run: async (lab) => {
    const results: Result[] = [];
    const targets = [await lab.bare(), await lab.gateway()];
    const { warmUpMilliseconds, rewarmMilliseconds } = lab.options;
    for (const size of promptSizes) {
      lab.progress(`requests/s with prompts of ${size} KB`);
      const warmUp = size === promptSizes[0] ? warmUpMilliseconds : rewarmMilliseconds;
      const comparison = await compareThroughput(lab, targets, size, warmUp);
      const [bare, gateway] = comparison.medians;
      const figures = { bare, gateway, ...comparison };
      results.push({
        ...{ row: 'throughput', measure: `requests/s, ${size} KB prompts: gateway ÷ bare` },
        ...atLeast(0.85, comparison.ratio),
        ...{ note: throughputNote(comparison), figures },
      });
      results.push(idleLine({ row: 'throughput', measure: `requests/s, ${size} KB prompts` }, comparison));
    }
    return results;
  },
};

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

/** Where a core has less to do, its rates are those of the generator. */
const mostIdlePercent = 5;

/** The line that shows that generator and upstream are not what was measured: no side waited for them. */
export function idleLine(
  { row, measure }: Pick<Result, 'row' | 'measure'>,
  { rounds }: Pick<Comparison, 'rounds'>,
): Result {
  const sides = rounds[0]?.map((_, side) => median(rounds.map((round) => round[side]?.idleShare ?? 0))) ?? [];
  const percent = Math.max(...sides) * 100;
  const line = {
    ...{ row, measure: `${measure}: core has nothing to do` },
    ...below(mostIdlePercent, percent, '%'),
    ...{ note: 'of the time; the side with the most', figures: { sides } },
  };
  if (!Number.isNaN(percent)) return line;
  return { ...line, measured: 'not told', ok: undefined, note: 'Linux alone tells it' };
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
