import type { Condition } from '../../resources/conditions.ts';

/** The conditions of an object that does not parse, as they are stored; entries of another shape are left out. */
export function storedConditions(document: unknown): readonly Condition[] {
  const { status } = (document ?? {}) as { status?: { conditions?: unknown } | null };
  const list: unknown[] = Array.isArray(status?.conditions) ? status.conditions : [];
  return list.filter(isCondition);
}

function isCondition(entry: unknown): entry is Condition {
  const condition = entry as Partial<Condition> | null;
  return typeof condition?.type === 'string' && typeof condition.lastTransitionTime === 'string';
}
