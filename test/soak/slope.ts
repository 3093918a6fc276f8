/** A line through measurements. */
export interface Slope {
  /** Change in a second, in the unit of the values. */
  readonly perSecond: number;
  /** The slope lies within this of `perSecond`, with about 95 % certainty if the deviations are independent. */
  readonly bound: number;
  /** Of the values. */
  readonly mean: number;
}

/** The least-squares line through points of seconds and values; NaN of fewer than three. */
export function slopeOf(points: readonly (readonly [seconds: number, value: number])[]): Slope {
  const count = points.length;
  const mean = points.reduce((sum, [, value]) => sum + value, 0) / count;
  if (count < 3) return { perSecond: Number.NaN, bound: Number.NaN, mean };
  const middle = points.reduce((sum, [at]) => sum + at, 0) / count;
  const spread = points.reduce((sum, [at]) => sum + (at - middle) ** 2, 0);
  const perSecond = points.reduce((sum, [at, value]) => sum + (at - middle) * (value - mean), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => {
    return sum + (value - mean - perSecond * (at - middle)) ** 2;
  }, 0);
  return { perSecond, bound: 2 * Math.sqrt(rest / (count - 2) / spread), mean };
}
