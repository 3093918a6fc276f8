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
  /** There is none: issue a key into a new one. */
  | { readonly step: 'Create' }
  /**
   * Issue another key into it. `Rotated`: the revision was raised, or a rotation is due; `Reissued`: it holds no valid key;
   * `Refused`: it holds a former one.
   */
  | {
      readonly step: 'Issue';
      readonly cause: 'Rotated' | 'Reissued' | 'Refused';
      /** How many scheduled rotations there are with this one. */
      readonly scheduled: number;
    }
  /** Its key is correct, another entry is not. */
  | { readonly step: 'Refresh'; readonly content: SecretContent }
  /** It was made for a key of this name and has no owner any more, as after a restore: own it, then decide again. */
  | { readonly step: 'Adopt' }
  /** It belongs to another owner. */
  | { readonly step: 'Conflict' }
  /** It is being deleted: wait until it is deleted. */
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
    // An old copy may bring its old counts along: those of the status are at least as high.
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
 * Only where the object asks for it: otherwise deleting a key and creating it again would not revoke its text, if that is
 * done before the garbage collector deletes the Secret.
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

/** A key that is in the Secret and not yet in the status was just issued: a crash came between the two writes. */
function isRotationDue(key: Key, secret: Secret, nowMs: number): boolean {
  const [head] = key.status?.hashes ?? [];
  if (head === undefined || head.hash !== hashKeyText(textOf(secret) ?? '')) return false;
  return (nextRotationMs(key, head, nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
}

/** How many scheduled rotations led to the key in a Secret. One that lost its annotations has those that the status implies. */
function scheduledIn(key: Key, secret: Secret): number {
  const isLost = revisionOf(secret) === undefined;
  return scheduledOf(secret) ?? (isLost ? Math.max(0, issuedRevision(key) - wantedRevision(key)) : 0);
}

/** The revision of the current key by the status, for a Secret that lost its annotation. */
export function issuedRevision(key: Key): number {
  return key.status?.hashes?.find(({ expirationTime }) => expirationTime === undefined)?.revision ?? 0;
}
