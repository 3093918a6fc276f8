import { type Effort, effortScale } from './dialect.ts';

/** Whether a text is a value of `reasoning_effort`. */
export function isEffort(value: string): value is Effort {
  return (effortScale as readonly string[]).includes(value);
}

/**
 * The value nearest to the wish among those that the node takes; if two are equally near, the lower one. Undefined if nothing
 * may be sent. `none` is not a low effort: it never replaces another value, and no other value replaces it.
 */
export function nearestEffort(wish: Effort, taken: readonly Effort[]): Effort | undefined {
  if (taken.includes(wish)) return wish;
  if (wish === 'none') return undefined;
  const rank = effortScale.indexOf(wish);
  const distance = (effort: Effort): number => Math.abs(effortScale.indexOf(effort) - rank);
  const inOrder = effortScale.filter((effort) => effort !== 'none' && taken.includes(effort));
  const [first, ...others] = inOrder;
  if (first === undefined) return undefined;
  return others.reduce((best, effort) => (distance(effort) < distance(best) ? effort : best), first);
}
