import { hashKeyText } from '../../resources/key-text.ts';
import type { Secret } from '../../resources/secret.ts';
import { nextRotationMs } from './hashes.ts';
import { adoptAnnotation, isGenerated, type Key, wantedRevision } from './key.ts';
import { isFormer } from './retired.ts';
import {
  isCurrent,
  ownerOf,
  revisionOf,
  type SecretContent,
  scheduledOf,
  textOf,
  wasMadeFor,
} from './secret.ts';

/** What to do about the Secret of a key. */
export type SecretStep =
  /** Nothing: the Secret is correct, or the key is given by its hash. */
  | { readonly step: 'Keep' }
  /** There is no Secret: issue a key into a new one. */
  | { readonly step: 'Create' }
  /**
   * Issue another key into the Secret. `Rotated`: the revision was raised, or a rotation is due. `Reissued`: the Secret holds
   * no valid key. `Refused`: it holds a former key.
   */
  | {
      readonly step: 'Issue';
      readonly cause: 'Rotated' | 'Reissued' | 'Refused';
      /** How many scheduled rotations there are with this one. */
      readonly scheduled: number;
    }
  /** The key in the Secret is correct, but another entry is not. */
  | { readonly step: 'Refresh'; readonly content: SecretContent }
  /** The Secret was made for a key of this name and has no owner any more, as after a restore: own it, then decide again. */
  | { readonly step: 'Adopt' }
  /** The Secret belongs to another owner. */
  | { readonly step: 'Conflict' }
  /** The Secret is being deleted: wait for the end of that. */
  | { readonly step: 'Wait' };

interface Facts {
  readonly key: Key;
  readonly secret: Secret | undefined;
  readonly gatewayURL: string;
  readonly nowMs: number;
}

type Rule = (facts: Facts) => SecretStep | undefined;

/** The first rule that returns a step decides. */
const rules: readonly Rule[] = [
  ({ key }) => (key.spec.secretName === undefined ? { step: 'Keep' } : undefined),
  ({ key }) => (key.metadata.deletionTimestamp === undefined ? undefined : { step: 'Keep' }),
  ({ secret }) => (secret === undefined ? { step: 'Create' } : undefined),
  ({ key, secret }) => (secret !== undefined && isAdoptable(key, secret) ? { step: 'Adopt' } : undefined),
  ({ key, secret }) =>
    secret !== undefined && ['Foreign', 'None'].includes(ownerOf(key, secret))
      ? { step: 'Conflict' }
      : undefined,
  ({ key, secret }) =>
    secret !== undefined &&
    (ownerOf(key, secret) === 'Former' || secret.metadata.deletionTimestamp !== undefined)
      ? { step: 'Wait' }
      : undefined,
  ({ key, secret }) =>
    secret === undefined || isGenerated(key, textOf(secret) ?? '')
      ? undefined
      : { step: 'Issue', cause: 'Reissued', scheduled: scheduledIn(key, secret) },
  ({ key, secret }) => {
    if (secret === undefined || !isFormer(key, hashKeyText(textOf(secret) ?? ''))) return undefined;
    // The annotations of an old copy may have old counts, so the higher one of them and the status counts.
    const scheduled = Math.max(scheduledIn(key, secret), issuedRevision(key) - wantedRevision(key));
    return { step: 'Issue', cause: 'Refused', scheduled };
  },
  ({ key, secret }) => {
    if (secret === undefined) return undefined;
    const scheduled = scheduledIn(key, secret);
    const isRaised = wantedRevision(key) + scheduled > (revisionOf(secret) ?? issuedRevision(key));
    return isRaised ? { step: 'Issue', cause: 'Rotated', scheduled } : undefined;
  },
  ({ key, secret, nowMs }) =>
    secret !== undefined && isRotationDue(key, secret, nowMs)
      ? { step: 'Issue', cause: 'Rotated', scheduled: scheduledIn(key, secret) + 1 }
      : undefined,
  ({ key, secret, gatewayURL }) => {
    if (secret === undefined) return undefined;
    const revision = revisionOf(secret) ?? issuedRevision(key);
    const content = { text: textOf(secret) ?? '', revision, scheduled: scheduledIn(key, secret), gatewayURL };
    return isCurrent(key, secret, content) ? undefined : { step: 'Refresh', content };
  },
];

/**
 * Whether the key may own a Secret without owner. Only if the key asks for it: otherwise deleting a key and creating it again
 * before the garbage collector deletes the Secret would not revoke the key text.
 */
function isAdoptable(key: Key, secret: Secret): boolean {
  return (
    key.metadata.annotations?.[adoptAnnotation] === 'true' &&
    secret.metadata.deletionTimestamp === undefined &&
    ['Former', 'None'].includes(ownerOf(key, secret)) &&
    wasMadeFor(key, secret) &&
    isGenerated(key, textOf(secret) ?? '')
  );
}

/** Decides what to do about the Secret of a key, given its current content. Pure. */
export function secretStep(facts: Facts): SecretStep {
  for (const rule of rules) {
    const step = rule(facts);
    if (step !== undefined) return step;
  }
  return { step: 'Keep' };
}

/** Whether a rotation by schedule is due. A key that is in the Secret but not in the status was just issued before a crash. */
function isRotationDue(key: Key, secret: Secret, nowMs: number): boolean {
  const [head] = key.status?.hashes ?? [];
  if (head === undefined || head.hash !== hashKeyText(textOf(secret) ?? '')) return false;
  return (nextRotationMs(key, head, nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
}

/** How many scheduled rotations led to the key in a Secret: by its annotation, or by the status if the annotation was removed. */
function scheduledIn(key: Key, secret: Secret): number {
  const isLost = revisionOf(secret) === undefined;
  return scheduledOf(secret) ?? (isLost ? Math.max(0, issuedRevision(key) - wantedRevision(key)) : 0);
}

/** The revision of the current key by the status, for a Secret whose annotation was removed. */
export function issuedRevision(key: Key): number {
  return key.status?.hashes?.find(({ expirationTime }) => expirationTime === undefined)?.revision ?? 0;
}
