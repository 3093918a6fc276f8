import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../store/store.ts';
import { applyEdits, valueAt } from './apply-edits.ts';
import { type Body, bodyOf } from './declared-object.ts';
import type { Edit } from './edit.ts';
import { type FieldKeys, holdsField, leafValues } from './field-tree.ts';
import { isDefault } from './kind-schema.ts';
import { type Claim, claimsOn, ownershipOf, ownPart } from './managed-fields.ts';

/** How to make edits of an object as it is now. */
export interface PlannedEdit {
  /** Whether there is anything to change. */
  readonly isChange: boolean;
  /** The object's labels, annotations and spec after it. */
  readonly wanted: Body;
  /** The fields that our manager will own: the body of a server-side apply. */
  readonly applied: Record<string, unknown>;
  /** Fields it changes that others own. */
  readonly claims: readonly Claim[];
  /** Whether it removes fields that our manager does not own alone. An apply removes only fields that it owns alone. */
  readonly isBeyondApply: boolean;
}

/** Plans edits by the state of the object and the owners of its fields. Pure. */
export function planEdit(kind: Kind, object: unknown, edits: readonly Edit[]): PlannedEdit {
  const live = bodyOf(object);
  const ownership = ownershipOf(object);
  const own = ownPart(object, ownership);
  const wanted = applyEdits({ ...live }, edits) as unknown as Body;
  // A field that has its value already stays with its owner.
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

/** Whether a value is an object without members, with which nothing is lost. */
function isHusk(value: unknown): boolean {
  return isDeepStrictEqual(value, {});
}
