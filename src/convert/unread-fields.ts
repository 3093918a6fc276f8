import type { Dropped } from './dropped.ts';
import type { JsonObject } from './json.ts';
import { pathOf } from './request-fields.ts';

/** Whether a caller said something: null, false and empty lists or objects ask for nothing. */
export function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** The fields of a request that a conversion knows. */
export interface KnownFields {
  /** Read by the conversion. */
  readonly read: ReadonlySet<string>;
  /** Not carried, without bearing on the answer. */
  readonly hints: ReadonlySet<string>;
}

/** Names what the caller filled and nobody read; `at` is the path of the object that is read. Of a field that nobody knows nobody can say that it does not matter. */
export function noteUnread(
  owner: JsonObject,
  { read, hints }: KnownFields,
  dropped: Dropped,
  at: string = '',
): void {
  for (const field of Object.keys(owner)) {
    if (read.has(field) || !isAsked(owner[field])) continue;
    if (hints.has(field)) dropped.hint(pathOf(at, field));
    else dropped.loss(pathOf(at, field));
  }
}
