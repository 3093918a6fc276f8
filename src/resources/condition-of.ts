import type { Condition } from './conditions.ts';

/** The condition of one type; undefined where the object has none. */
export function conditionOf(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
