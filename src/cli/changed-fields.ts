import { isDeepStrictEqual } from 'node:util';

const deepest = 32;

/**
 * The fields in which two manifests differ, as people write them: `spec.priority`, `spec.models[gpt-5].enabled`. Lists of
 * named entries are told apart by name; other lists are one field.
 */
export function changedFields(before: unknown, after: unknown, path = '', depth = 0): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (depth < deepest && isMembers(before) && isMembers(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changedFields(before[name], after[name], path === '' ? name : `${path}.${name}`, depth + 1),
    );
  }
  const one = entriesOf(before);
  const other = entriesOf(after);
  if (one === undefined || other === undefined) return [path];
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].flatMap((name) =>
    changedFields(one.get(name), other.get(name), `${path}[${name}]`, depth + 1),
  );
}

/** Whether a field is one of the others, or lies above or below one. */
export function overlaps(field: string, others: readonly string[]): boolean {
  const within = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return others.some((other) => within(field, other) || within(other, field));
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entriesOf(value: unknown): Map<string, unknown> | undefined {
  if (!Array.isArray(value)) return undefined;
  const entries = new Map<string, unknown>();
  for (const entry of value as readonly unknown[]) {
    const name = isMembers(entry) ? entry['name'] : undefined;
    if (typeof name !== 'string') return undefined;
    entries.set(name, entry);
  }
  return entries;
}
