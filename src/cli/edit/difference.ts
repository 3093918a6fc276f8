import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../resources/is-object.ts';
import { pathText } from './apply-edits.ts';
import type { Step } from './edit.ts';

/** A place in which two values differ. A value is undefined if there is none. */
export interface Difference {
  readonly path: readonly Step[];
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * The places in which two values differ, as deep as both have them. Lists of named entries are compared by name; any other
 * list is one value. Null means that there is no value, as it does for the API server.
 */
export function differences(before: unknown, after: unknown, path: readonly Step[] = []): Difference[] {
  const [old, now] = [before ?? undefined, after ?? undefined];
  if (isDeepStrictEqual(old, now)) return [];
  if (isNamedList(old) && isNamedList(now)) {
    const names = new Set([...old, ...now].map(({ name }) => name));
    return [...names].flatMap((name) => {
      const entryOf = (list: readonly NamedEntry[]) => list.find((entry) => entry.name === name);
      return differences(entryOf(old), entryOf(now), [...path, { name }]);
    });
  }
  if (isObject(old) && isObject(now)) {
    const names = new Set([...Object.keys(old), ...Object.keys(now)]);
    return [...names].flatMap((name) => differences(old[name], now[name], [...path, name]));
  }
  return [{ path, before: old, after: now }];
}

interface NamedEntry extends Record<string, unknown> {
  readonly name: string;
}

/** Whether a value is a list of objects with different names. */
export function isNamedList(value: unknown): value is NamedEntry[] {
  if (!Array.isArray(value)) return false;
  const names = value.map((entry: unknown) => (isObject(entry) ? entry['name'] : undefined));
  return names.every((name) => typeof name === 'string') && new Set(names).size === names.length;
}

/** The fields in which two values differ, as people write them: `spec.priority`, `spec.models[gpt-5].enabled`. */
export function changedFields(before: unknown, after: unknown): string[] {
  return differences(before, after).map(({ path }) => pathText(path));
}

/** Whether a field is one of the others, contains one of them, or is a part of one. */
export function overlaps(field: string, others: readonly string[]): boolean {
  const within = (inner: string, outer: string): boolean =>
    inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
  return others.some((other) => within(field, other) || within(other, field));
}
