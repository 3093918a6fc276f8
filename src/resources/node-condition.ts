import { conditionOf } from './condition-of.ts';
import type { Condition } from './conditions.ts';

/**
 * The condition to show of a node: why it is not ready, else why it cannot be reached, else the result of its last check.
 * Undefined before the controller has looked at it.
 */
export function nodeCondition(conditions: readonly Condition[] | undefined): Condition | undefined {
  const [ready, reachable] = [conditionOf(conditions, 'Ready'), conditionOf(conditions, 'Reachable')];
  const isFalse = (condition: Condition | undefined): boolean => condition?.status === 'False';
  if (isFalse(ready)) return ready;
  if (isFalse(reachable)) return reachable;
  return ready?.status === 'True' ? (reachable ?? ready) : ready;
}
