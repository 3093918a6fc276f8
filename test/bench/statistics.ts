/** The value below which `share` (0 to 1) of the values lie; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/**
 * The delay that a request arriving at a random moment meets with probability 1 - `share` or more, in the unit of
 * `stalls`: the lengths of the times in which the event loop did nothing else, out of `total`. Counting stalls instead
 * would let a thousand short turns hide one long one.
 */
export function arrivalDelay(stalls: readonly number[], total: number, share: number): number {
  const beyond = (delay: number) =>
    stalls.reduce((sum, stall) => sum + Math.max(0, stall - delay), 0) / total;
  let low = 0;
  let high = Math.max(0, ...stalls);
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (beyond(middle) > 1 - share) low = middle;
    else high = middle;
  }
  return high;
}
