import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { pathText, valueAt } from './edit/apply-edits.ts';
import { DeclarationError, type Declarations, type Declared, refOf } from './edit/declarations.ts';
import type { Edit } from './edit/edit.ts';
import { type WriteFlags, writeOptions } from './writing.ts';

/** How often the edit is tried if the resource keeps changing. */
const mostTries = 5;

/**
 * Edits a resource that was read before. Fields that another person changed since then stay. If the edit changes one of
 * them to another value, nothing is stored.
 *
 * @throws DeclarationError `Conflict`, with the fields that another person changed to other values
 */
export async function editResource<K extends Kind>(
  { signal }: CommandContext,
  place: Declarations,
  read: Declared<K>,
  edits: readonly Edit[],
  flags: WriteFlags,
): Promise<{ readonly before: Declared<K>; readonly after: Declared<K> }> {
  const ref = refOf(read);
  const options = writeOptions(flags);
  let before = read;
  for (let tries = 1; ; tries += 1) {
    try {
      const after = await place.edit(ref, edits, { ...options, version: before.version }, signal);
      return { before, after };
    } catch (error) {
      if (!(error instanceof DeclarationError) || error.reason !== 'Conflict' || tries === mostTries)
        throw error;
      const now = await place.get(ref, signal);
      // It was not changed: another manager owns the field, and the error says so.
      if (now.version === before.version) throw error;
      refuseIfTaken(read, now, edits);
      before = now;
    }
  }
}

function refuseIfTaken<K extends Kind>(read: Declared<K>, now: Declared<K>, edits: readonly Edit[]): void {
  const taken = edits.flatMap((edit) => {
    const theirs = valueAt(now.resource, edit.path);
    if (isDeepStrictEqual(valueAt(read.resource, edit.path), theirs)) return [];
    if (!('remove' in edit) && isDeepStrictEqual(theirs, edit.value)) return [];
    return [
      { field: pathText(edit.path), message: `is now ${JSON.stringify(theirs ?? null).slice(0, 200)}` },
    ];
  });
  if (taken.length === 0) return;
  const fields = taken.map(({ field }) => field).join(', ');
  throw new DeclarationError(
    'Conflict',
    `Another person changed ${fields} at the same time; look at it and try again.`,
    taken,
  );
}
