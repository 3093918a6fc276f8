import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../store/store.ts';
import { applyEdits, valueAt } from './apply-edits.ts';
import { type Body, bodyOf } from './declared-object.ts';
import type { Edit } from './edit.ts';
import { type FieldKeys, holdsField, leafValues } from './field-tree.ts';
import { isDefault } from './kind-schema.ts';
import { type Claim, claimsOn, ownershipOf, ownPart } from './managed-fields.ts';

/** How edits of one object are to be made, as it stands. */
export interface PlannedEdit {
  /** Whether there is anything to change. */
  readonly isChange: boolean;
  /** The object's labels, annotations and spec after it. */
  readonly wanted: Body;
  /** What our manager is to own then: the body of a server-side apply. */
  readonly applied: Record<string, unknown>;
  /** Fields it changes that others own. */
  readonly claims: readonly Claim[];
  /** Whether it removes what our manager does not own alone: apply cannot do that, for it only gives up what it owns. */
  readonly isBeyondApply: boolean;
}

/** Judges edits by what the object is and who owns its fields. Pure. */
export function planEdit(kind: Kind, object: unknown, edits: readonly Edit[]): PlannedEdit {
  const live = bodyOf(object);
  const ownership = ownershipOf(object);
  const own = ownPart(object, ownership);
  const wanted = applyEdits({ ...live }, edits) as unknown as Body;
  // What is so already stays with whoever owns it.
  const news = edits.filter(
    (edit) => 'remove' in edit || !isDeepStrictEqual(valueAt(live, edit.path), edit.value),
  );
  const before = leafValues(live);
  const after = leafValues(wanted);
  const removed = [...before]
    .filter(([id, { keys, value }]) => !after.has(id) && !isHusk(value) && !isDefault(kind, live, keys))
    .map(([, { keys }]) => keys);
  const changed = [...after]
    .filter(([id, { value }]) => before.has(id) && !isDeepStrictEqual(before.get(id)?.value, value))
    .map(([, { keys }]) => keys);
  const isAdding = [...after.keys()].some((id) => !before.has(id));
  const { others } = ownership;
  const isOursAlone = (keys: FieldKeys) =>
    holdsField(ownership.ours, keys) && !others.some(({ fields }) => holdsField(fields, keys));
  return {
    isChange: removed.length > 0 || changed.length > 0 || isAdding,
    wanted,
    applied: applyEdits(own, news),
    claims: claimsOn([...removed, ...changed], ownership, (keys) => isDefault(kind, live, keys)),
    isBeyondApply: removed.some((keys) => !isOursAlone(keys)),
  };
}

/** An object without members says nothing, so that nothing is lost with it. */
function isHusk(value: unknown): boolean {
  return isDeepStrictEqual(value, {});
}
