import { isDeepStrictEqual } from 'node:util';
import { conditionOf } from '../resources/condition-of.ts';
import type { Condition } from '../resources/conditions.ts';
import type { Reason } from '../resources/reasons.ts';
import { timeText } from '../resources/time.ts';

/** One condition of an object. The message has no times, counters or ids, because with them every retry would write the status. */
export interface Observation {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/**
 * The progress of an object as kstatus reads it: `Settled`, in progress (`Reconciling`), or failed until something changes
 * (`Stalled`).
 */
export type Progress = 'Settled' | 'Reconciling' | 'Stalled';

const longestMessage = 1_024;

/**
 * The conditions to write: `observations`, and `Reconciling` or `Stalled` (never both true) with the
 * reason and message of the first observation, which must be `Ready`. A marker that is not true is left out, unless another manager
 * left it in `before`: it is then set to False, because an apply cannot remove it. `lastTransitionTime` is taken from
 * `before` if the status of a type is the same.
 */
export function conditionList(
  observations: readonly [Observation, ...Observation[]],
  progress: Progress,
  before: readonly Condition[] | undefined,
  generation: number,
  nowMs: number,
): Condition[] {
  const [ready] = observations;
  const markers = markerTypes.flatMap((type) => {
    const status = type === progress ? 'True' : isLeftOver(before, type) ? 'False' : undefined;
    return status === undefined ? [] : [{ ...ready, type, status } as const];
  });
  const wanted = [...observations, ...markers];
  const list = wanted.map(({ type, status, reason, message }) => {
    const old = conditionOf(before, type);
    return shared({
      type,
      status,
      reason,
      message:
        message.length > longestMessage ? `${message.slice(0, longestMessage - 1).toWellFormed()}…` : message,
      lastTransitionTime:
        old !== undefined && old.status === status ? old.lastTransitionTime : timeText(nowMs),
      observedGeneration: generation,
    });
  });
  return sharedList(list);
}

const markerTypes = ['Reconciling', 'Stalled'] as const;

/**
 * Whether another manager wrote this marker: our own have the reason and message of `Ready`. Our `InvalidSpec` counts as another
 * manager's, because it is written by a patch and an apply cannot remove it.
 */
function isLeftOver(before: readonly Condition[] | undefined, type: string): boolean {
  const [marker, ready] = [conditionOf(before, type), conditionOf(before, 'Ready')];
  if (marker === undefined) return false;
  const isOurs =
    marker.reason === ready?.reason &&
    marker.message === ready.message &&
    marker.observedGeneration === ready.observedGeneration;
  return !isOurs || (marker.status === 'True' && marker.reason === 'InvalidSpec');
}

/**
 * Whether a status is stored as it was planned. Conditions of other managers and markers that are not true do not count: an apply
 * would not remove them, so that every reconcile would write.
 */
export function isStored<S extends { readonly conditions?: readonly Condition[] | undefined }>(
  stored: S | undefined,
  planned: S,
): boolean {
  if (stored === undefined || isDeepStrictEqual(stored, planned)) return stored !== undefined;
  const isPlanned = (type: string): boolean => conditionOf(planned.conditions, type) !== undefined;
  const isLeft = markerTypes.some(
    (type) => !isPlanned(type) && conditionOf(stored.conditions, type)?.status === 'True',
  );
  const conditions = planned.conditions?.map(({ type }) => conditionOf(stored.conditions, type));
  return !isLeft && isDeepStrictEqual({ ...stored, conditions }, planned);
}

const mostShared = 1_000;
const sharing = new Map<string, Condition>();

/** One object for all equal conditions: saves 100 MB if 100,000 keys are accepted in one second. */
function shared(condition: Condition): Condition {
  const { type, status, reason, message, lastTransitionTime, observedGeneration } = condition;
  const id = [type, status, reason, lastTransitionTime, observedGeneration, message].join('\n');
  const known = sharing.get(id);
  if (known !== undefined) return known;
  if (sharing.size >= mostShared) sharing.clear();
  sharing.set(id, Object.freeze(condition));
  return condition;
}

const listsSharing = new WeakMap<Condition, Condition[]>();

/** The same for whole lists: the last list that began with the same condition, if it is equal. */
function sharedList(list: Condition[]): Condition[] {
  const [first] = list;
  if (first === undefined) return list;
  const known = listsSharing.get(first);
  if (known?.length === list.length && list.every((condition, index) => condition === known[index])) {
    return known;
  }
  listsSharing.set(first, list);
  return list;
}
