import { type ClosedLoop, runClosedLoop } from '../closed-loop.ts';
import { type Comparison, compare, type Meter, type Ratio, ratioOf } from '../comparison.ts';
import { keepAwake } from '../keep-awake.ts';
import type { Lab } from '../lab.ts';
import type { Result } from '../result.ts';
import { throughputNote } from '../rows/throughput.ts';
import type { Contestant } from './contestants.ts';

/** One side of a comparison: who, what it is asked, and how long a round of it lasts. */
export interface Side extends Pick<ClosedLoop, 'request' | 'expected' | 'onPiece'> {
  readonly pid: number;
  readonly port: number;
  readonly connections: number;
  readonly milliseconds: number;
  /** Load before the first round. */
  readonly warmUp: number;
}

/** One whole request, again and again, as one side. */
export function plainSide(
  lab: Lab,
  { pid, caller }: Contestant,
  asked: { bytes: Buffer; expected: ClosedLoop['expected']; connections: number } & Partial<Side>,
): Side {
  const { bytes, expected, connections, ...more } = asked;
  const { roundMilliseconds: milliseconds, warmUpMilliseconds: warmUp } = lab.options;
  const { port } = caller;
  return { ...{ pid, port, connections, milliseconds, warmUp, request: () => bytes, expected }, ...more };
}

/** Answers per second of each side, or pieces where it counts them, in turns. */
export async function compareRates(sides: readonly Side[], rounds: number): Promise<Comparison> {
  for (const side of sides) {
    if (side.warmUp > 0) await rateOf({ ...side, milliseconds: side.warmUp });
  }
  const awake = await keepAwake();
  try {
    return await compare(sides, rounds, (side, meter) => rateOf(side, meter), awake.idleSeconds);
  } finally {
    await awake.stop();
  }
}

export async function rateOf(side: Omit<Side, 'pid' | 'warmUp'>, meter?: Meter): Promise<number> {
  const { answers, pieces, seconds } = await runClosedLoop({
    ...side,
    ...(meter === undefined ? {} : { onWindow: meter.mark }),
  });
  return (side.onPiece === undefined ? answers : pieces) / seconds;
}

/** A line for one side ÷ another one; without a goal where there is none. */
export function ratioLine(
  { row, measure }: Pick<Result, 'row' | 'measure'>,
  comparison: Comparison,
  { over, under }: { over: number; under: number },
  goal: number | undefined,
): Result {
  const ratio: Ratio = ratioOf(comparison.rounds, over, under);
  const medians = [comparison.medians[under] ?? Number.NaN, comparison.medians[over] ?? Number.NaN];
  const digits = ratio.ratio < 10 ? 2 : 0;
  return {
    ...{ row, measure, measured: ratio.ratio.toFixed(digits) },
    goal: goal === undefined ? '' : `≥ ${goal < 2 ? goal.toFixed(2) : goal}`,
    ok: goal === undefined ? undefined : ratio.ratio >= goal,
    note: throughputNote({ ...ratio, medians }),
    figures: { ...ratio, medians, rounds: comparison.rounds },
  };
}
