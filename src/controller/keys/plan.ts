import { conditionOf } from '../../resources/condition-of.ts';
import { timeOf, timeText } from '../../resources/time.ts';
import { conditionList, isStored, type Observation, type Progress } from '../conditions.ts';
import { expiryWarningMs, isLongLived } from './expiry.ts';
import { type CurrentKey, nextHashes, nextRotationMs } from './hashes.ts';
import { adoptAnnotation, type Key, type KeyStatus } from './key.ts';
import { nextRetired, refusalShownMs } from './retired.ts';

/** Everything that the status of a key depends on, once its Secret is correct. */
export interface KeyFacts {
  readonly key: Key;
  /** The state of the Secret: it has the key, it belongs to another owner, it is not there yet, or it could not be read or written. */
  readonly secret: 'NotUsed' | 'Issued' | 'Conflict' | 'Waiting' | 'Failed';
  /** Why the Secret could not be read or written. */
  readonly failure?: string | undefined;
  /** The key in the Secret. */
  readonly current: CurrentKey | undefined;
  /** The hash of a former key that the Secret held, which was replaced. */
  readonly refused: string | undefined;
  /** The hash of a key in a Secret that this object does not own. */
  readonly held: string | undefined;
  /** The older resource that claims the hash. */
  readonly contestedBy: Key | undefined;
  /** Names of the allowlist that no node serves; undefined without an allowlist. */
  readonly missing: readonly string[] | undefined;
  readonly nowMs: number;
}

export interface KeyPlan {
  /** The status to write; undefined if it is correct. */
  readonly status: KeyStatus | undefined;
  readonly ready: Observation;
  /** When something expires next, in milliseconds since 1970. */
  readonly nextDueMs: number | undefined;
}

type Verdict = readonly [Observation['status'], Observation['reason'], string, Progress];
type Rule = (facts: KeyFacts, overlaps: boolean) => Verdict | undefined;

/** The rules for `Ready`; the first that returns a condition decides. */
const readyRules: readonly Rule[] = [
  ({ key }) =>
    key.metadata.deletionTimestamp === undefined
      ? undefined
      : ['False', 'Revoked', 'The object is being deleted; its key opens nothing.', 'Stalled'],
  ({ key, secret }) =>
    secret === 'Conflict'
      ? [
          'False',
          'SecretConflict',
          `The Secret "${key.spec.secretName}" exists and is not owned by this object, so it was left alone. Delete it, or make another object with another spec.secretName. If it was restored from a backup of this object, set the annotation ${adoptAnnotation}: "true".`,
          'Stalled',
        ]
      : undefined,
  ({ key, secret }) =>
    secret === 'Waiting'
      ? [
          'Unknown',
          'Pending',
          `Waits until the Secret "${key.spec.secretName}" of an earlier object was deleted.`,
          'Reconciling',
        ]
      : undefined,
  ({ key, secret, failure = '' }) =>
    secret === 'Failed'
      ? [
          'False',
          'Failed',
          `The Secret "${key.spec.secretName}" could not be read or written: ${failure}. It is tried again.`,
          // A Role, a quota or an admission policy refuses it, so retries fail until somebody changes that.
          'Stalled',
        ]
      : undefined,
  ({ key, contestedBy }) =>
    contestedBy === undefined
      ? undefined
      : [
          'False',
          'HashConflict',
          `${olderOne(contestedBy, key)} claims the same hash, so this one is not in force. Delete one of the two.`,
          'Stalled',
        ],
  (facts) =>
    isExpired(facts)
      ? [
          'False',
          'Expired',
          'spec.expirationTime has passed; the key opens nothing. Move it into the future, or delete the object.',
          'Stalled',
        ]
      : undefined,
  // A disabled key is as its spec says, so it is settled: a pipeline that waits for the apply must not fail.
  ({ key }) =>
    key.spec.enabled
      ? undefined
      : ['True', 'Disabled', 'spec.enabled is false; the key opens nothing.', 'Settled'],
  (facts) =>
    (refusalEndsMs(facts) ?? 0) > facts.nowMs
      ? [
          'True',
          'FormerKeyRefused',
          `The Secret "${facts.key.spec.secretName}" held a key that was rotated or revoked before, so another key was issued into it. Stop what writes the old copy, and give the callers the new key.`,
          'Settled',
        ]
      : undefined,
  ({ key, nowMs }) =>
    (warningMs(key) ?? Number.POSITIVE_INFINITY) <= nowMs
      ? [
          'True',
          'ExpiresSoon',
          'The key expires in less than seven days (spec.expirationTime). Set a later time, or give the callers another key.',
          'Settled',
        ]
      : undefined,
  ({ secret }, overlaps) =>
    secret === 'Issued' && overlaps
      ? [
          'True',
          'RotationOverlap',
          'A new key was issued; the former one is valid until its overlap ends.',
          'Settled',
        ]
      : undefined,
  ({ key, secret }) =>
    secret === 'Issued'
      ? ['True', 'KeyIssued', `The key is in the Secret "${key.spec.secretName}".`, 'Settled']
      : undefined,
];

/**
 * Decides about the status of a key. Pure. If the stored status is the one it would write, it returns no status. `inForceOf`
 * gives the condition `InForce` for these hashes.
 */
export function planKey(
  facts: KeyFacts,
  inForceOf: (hashes: KeyStatus['hashes']) => Observation | undefined = () => undefined,
): KeyPlan {
  const { key, nowMs } = facts;
  const generation = key.metadata.generation ?? 0;
  const hashes = hashesOf(facts);
  const retired = retiredOf(facts, hashes);
  const [status, reason, message, progress] = verdictOf(facts, hashes.length > 1);
  const ready: Observation = { type: 'Ready', status, reason, message };
  const models = modelsResolved(facts);
  const [head] = hashes;
  const rotationMs = head === undefined ? undefined : nextRotationMs(key, head, nowMs);
  const candidate: KeyStatus = {
    observedGeneration: generation,
    hashes,
    ...(retired.length === 0 ? {} : { retiredHashes: retired }),
    ...(rotationMs === undefined ? {} : { nextRotationTime: timeText(rotationMs) }),
    conditions: conditionList(
      [ready, ...[models, inForceOf(hashes)].filter((each) => each !== undefined)],
      progress,
      key.status?.conditions,
      generation,
      nowMs,
    ),
  };
  return {
    status: isStored(key.status, candidate) ? undefined : candidate,
    ready,
    nextDueMs: nextDue(facts, hashes, [rotationMs, refusalEndsMs(facts)]),
  };
}

function verdictOf(facts: KeyFacts, overlaps: boolean): Verdict {
  for (const rule of readyRules) {
    const verdict = rule(facts, overlaps);
    if (verdict !== undefined) return verdict;
  }
  return ['True', 'KeyAccepted', 'The key with the given hash is in force.', 'Settled'];
}

/** Names an object, but hides the name of one in another namespace. */
function olderOne({ kind, metadata }: Key, { metadata: { namespace } }: Key): string {
  if (metadata.namespace !== namespace) return 'An older object of another namespace';
  return `The older ${kind} "${metadata.name}"`;
}

function hashesOf({ key, secret, current, contestedBy, nowMs }: KeyFacts): NonNullable<KeyStatus['hashes']> {
  // A key must not end because its Secret cannot be read at the moment.
  if (secret === 'Failed') return key.status?.hashes ?? [];
  if (contestedBy !== undefined || key.metadata.deletionTimestamp !== undefined) return [];
  const { hash, hint, secretName, rotation } = key.spec;
  if (hash !== undefined) return [{ hash, ...(hint === undefined ? {} : { hint }) }];
  if (secretName === undefined) return [];
  return nextHashes(
    key.status?.hashes ?? [],
    current,
    rotation?.overlapSeconds ?? defaultOverlapSeconds,
    nowMs,
  );
}

function retiredOf(facts: KeyFacts, hashes: NonNullable<KeyStatus['hashes']>): string[] {
  const { key, secret, current, refused, held } = facts;
  const isKept = secret === 'NotUsed' || secret === 'Failed' || key.metadata.deletionTimestamp !== undefined;
  if (isKept) return key.status?.retiredHashes ?? [];
  // A contested key in the Secret is not retired: it takes effect when the older object that claims its hash is deleted.
  return nextRetired(key.status, hashes, { refused, held: held ?? current?.hash });
}

/** When the condition stops saying that a former key was refused: `refusalShownMs` after the replacement was issued. */
function refusalEndsMs({ key, refused, current, nowMs }: KeyFacts): number | undefined {
  if (refused !== undefined) return nowMs + refusalShownMs;
  const [head] = key.status?.hashes ?? [];
  const wasSaid = conditionOf(key.status?.conditions, 'Ready')?.reason === 'FormerKeyRefused';
  if (!wasSaid || head === undefined || head.hash !== current?.hash) return undefined;
  return (timeOf(head.createdTime) ?? 0) + refusalShownMs;
}

const defaultOverlapSeconds = 3_600;

function isExpired({ key, nowMs }: KeyFacts): boolean {
  return (timeOf(key.spec.expirationTime) ?? Number.POSITIVE_INFINITY) <= nowMs;
}

/** When the condition begins to warn that a key expires; undefined for short-lived keys (`isLongLived`). */
function warningMs({ metadata, spec }: Key): number | undefined {
  const expiresMs = timeOf(spec.expirationTime);
  if (expiresMs === undefined || !isLongLived(metadata.creationTimestamp, expiresMs)) return undefined;
  return expiresMs - expiryWarningMs;
}

function nextDue(
  { key, nowMs }: KeyFacts,
  hashes: readonly { readonly expirationTime?: string | undefined }[],
  others: readonly (number | undefined)[],
): number | undefined {
  const ends = [key.spec.expirationTime, ...hashes.map(({ expirationTime }) => expirationTime)].map(timeOf);
  const times = [...ends, warningMs(key), ...others].filter((time) => time !== undefined && time > nowMs);
  return times.length === 0 ? undefined : Math.min(...times.map((time) => time ?? nowMs));
}

const mostNames = 10;

function modelsResolved({ key, missing }: KeyFacts): Observation | undefined {
  if (key.kind !== 'APIKey') return undefined;
  const type = 'ModelsResolved';
  if (missing === undefined) {
    return { type, status: 'True', reason: 'AllModelsAllowed', message: 'The key has no allowlist.' };
  }
  if (missing.length === 0) {
    const message = 'Every model of the allowlist is served by a node that the key may use.';
    return { type, status: 'True', reason: 'ModelsResolved', message };
  }
  const shown = missing
    .slice(0, mostNames)
    .map((name) => `"${name.length > 80 ? `${name.slice(0, 79)}…` : name}"`);
  const rest = missing.length > mostNames ? ' and others' : '';
  const message = `No node that the key may use serves ${shown.join(', ')}${rest}. Check the names in spec.models, and spec.callerNamespaces of the nodes.`;
  return { type, status: 'False', reason: 'ModelsNotFound', message };
}
