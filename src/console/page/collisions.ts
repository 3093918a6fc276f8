import type { FieldEdit } from './server.ts';

/** A field that two people changed: what it was when the form was opened, what it is now, and what the form would store. */
export interface Collision {
  readonly path: FieldEdit['path'];
  readonly was: unknown;
  readonly theirs: unknown;
  readonly mine: unknown;
}

/** The edits of fields that somebody else changed too, between two states of a resource (`{ spec }`), to something else. */
export function collisionsOf(edits: readonly FieldEdit[], before: unknown, now: unknown): Collision[] {
  return edits.flatMap((edit) => {
    const { path } = edit;
    const mine = 'value' in edit ? edit.value : undefined;
    const [was, theirs] = [valueAt(before, path), valueAt(now, path)];
    return isSame(was, theirs) || isSame(theirs, mine) ? [] : [{ path, was, theirs, mine }];
  });
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function valueAt(value: unknown, path: FieldEdit['path']): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    if (typeof step === 'string') found = (found as Readonly<Record<string, unknown>>)[step];
    else if (Array.isArray(found)) found = found.find((entry) => entry?.name === step.name);
    else return undefined;
  }
  return found;
}
