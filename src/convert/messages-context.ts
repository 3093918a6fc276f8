import type { Dialect } from './dialect.ts';
import type { Dropped } from './dropped.ts';
import type { JsonObject } from './json.ts';
import type { ToolNames } from './tool-names.ts';
import { isAsked } from './unread-fields.ts';

/** What the parts of one messages request share while it is converted. */
export interface MessagesContext {
  readonly dialect: Dialect;
  readonly names: ToolNames;
  readonly dropped: Dropped;
}

/** Notes each of these fields that the caller filled as dropped without loss. */
export function hintFields(owner: JsonObject, at: string, fields: readonly string[], dropped: Dropped): void {
  for (const field of fields) if (isAsked(owner[field])) dropped.hint(at === '' ? field : `${at}.${field}`);
}
