import { median } from '../bench/statistics.ts';

/** How a measure changes. */
export interface Slope {
  /** Change in a second, in the unit of the values. */
  readonly perSecond: number;
  /** The slope lies within this of `perSecond`, with 95 % certainty. */
  readonly bound: number;
  /** Of the values. */
  readonly mean: number;
}

type Points = readonly (readonly [seconds: number, value: number])[];

/** What lies near each other in time is alike: only the means of long batches deviate independently of each other. */
const batchCount = 12;
/** Student's t for 95 % and the degrees of freedom that the line leaves. */
const studentT = 2.228;

/** The least-squares line through the batches' means; NaN where there are not points enough. */
export function slopeOf(all: Points): Slope {
  const mean = meanOf(all.map(([, value]) => value));
  const points = batchesOf(all);
  const middle = meanOf(points.map(([at]) => at));
  const level = meanOf(points.map(([, value]) => value));
  const spread = points.reduce((sum, [at]) => sum + (at - middle) ** 2, 0);
  const perSecond = points.reduce((sum, [at, value]) => sum + (at - middle) * (value - level), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => {
    return sum + (value - level - perSecond * (at - middle)) ** 2;
  }, 0);
  return { perSecond, bound: studentT * Math.sqrt(rest / (points.length - 2) / spread), mean };
}

/**
 * The median of what is added from batch to batch. For what goes in steps, as resident memory does when many large
 * bodies have met for the first time: a leak adds something to every batch, a step to one or two.
 */
export function usualGrowthOf(all: Points): Slope {
  const points = batchesOf(all);
  const rates = points.slice(1).map(([at, value], index) => {
    const [before = Number.NaN, was = Number.NaN] = points[index] ?? [];
    return (value - was) / (at - before);
  });
  const sorted = rates.toSorted((a, b) => a - b);
  // Of 11 the third and the third last: 93 %, by the binomial distribution.
  const half = ((sorted.at(-3) ?? Number.NaN) - (sorted[2] ?? Number.NaN)) / 2;
  return { perSecond: median(rates), bound: half, mean: meanOf(all.map(([, value]) => value)) };
}

function batchesOf(points: Points): Points {
  const [first = Number.NaN] = points[0] ?? [];
  const [last = Number.NaN] = points.at(-1) ?? [];
  const batchOf = (at: number) =>
    Math.min(batchCount - 1, Math.floor(((at - first) / (last - first)) * batchCount));
  const batches = Map.groupBy(points, ([at]) => batchOf(at));
  return [...batches.values()].map((batch): [number, number] => [
    meanOf(batch.map(([at]) => at)),
    meanOf(batch.map(([, value]) => value)),
  ]);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
