/** One series of a histogram: how many values fell into each bucket, and the sum of all values. */
export class Distribution {
  readonly bounds: readonly number[];
  /** The count of each bucket: values above the previous bound, up to this one. The last bucket has no upper bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
    counts[at] = (counts[at] ?? 0) + 1;
    this.sum += value;
  }
}
