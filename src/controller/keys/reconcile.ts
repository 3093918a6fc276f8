import { isDeepStrictEqual } from 'node:util';
import { conditionOf } from '../../resources/condition-of.ts';
import { generateKeyText, hashKeyText, keyHint } from '../../resources/key-text.ts';
import type { Reason } from '../../resources/reasons.ts';
import type { Secret } from '../../resources/secret.ts';
import { StoreError } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { ControllerStore } from '../controller-store.ts';
import type { Proofs } from '../in-force/proofs.ts';
import type { Reconcile, ReconcileContext } from '../reconciler.ts';
import { type CurrentKey, nextRotationMs } from './hashes.ts';
import { isGenerated, type Key, type KeyStatus, textKindOf, wantedRevision } from './key.ts';
import { type KeyFacts, planKey } from './plan.ts';
import { missingModels } from './reach.ts';
import { nextRetired } from './retired.ts';
import { changedSecret, newSecret, ownersAfterAdoption, revisionOf, textOf } from './secret.ts';
import { issuedRevision, type SecretStep, secretStep } from './secret-step.ts';

/** What the key controllers work with. */
export interface KeyTools {
  readonly store: ControllerStore;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly gatewayURL: string;
  readonly homeNamespace: string;
  /** Undefined where gateways do not report. */
  readonly proofs?: Proofs | undefined;
}

/** When to check again for a Secret that is being deleted; its deletion also triggers a reconcile. */
const waitMs = 5_000;

/**
 * The reconcile of APIKeys or MasterKeys. It writes the Secret first and the status second. A crash between the two loses
 * nothing, because a key that is in an owned Secret and not in the status is added to the status. Revoking is the other way
 * round: a key whose Secret was deleted is removed from the status before another key is issued.
 */
export function keyReconcile(kind: Key['kind'], tools: KeyTools): Reconcile {
  const { store, clock } = tools;
  /** By the id of a key: with which version its Secret was correct. A change of a model wakes many keys, whose Secrets are not read again. */
  const correct = new Map<string, string>();

  /** The key in the Secret, if the Secret is known to be as it was when it was correct for this key. */
  function knownCurrent(key: Key): CurrentKey | undefined {
    const { metadata, spec, status } = key;
    const [head] = status?.hashes ?? [];
    if (spec.secretName === undefined || head === undefined) return undefined;
    const version = store.secretVersion?.(metadata.namespace, spec.secretName);
    if (version === undefined || correct.get(idOf(key)) !== markOf(key, head.hash, version)) return undefined;
    const isDue = (nextRotationMs(key, head, clock.now()) ?? Number.POSITIVE_INFINITY) <= clock.now();
    return isDue ? undefined : { hash: head.hash, hint: head.hint ?? '', revision: head.revision ?? 0 };
  }

  /** Notes the Secret after a step; it is correct if the key owns it. */
  function note(key: Key, { current }: KeyFacts, secret: Secret | undefined): void {
    const version = secret?.metadata.resourceVersion;
    if (current === undefined || version === undefined) correct.delete(idOf(key));
    else correct.set(idOf(key), markOf(key, current.hash, version));
  }

  async function write(key: Key, status: KeyStatus, signal: AbortSignal): Promise<Key> {
    if (key.kind === 'APIKey') await store.writeStatus('APIKey', key, status, signal);
    else await store.writeStatus('MasterKey', key, status, signal);
    const shown = store.get(kind, key.metadata.namespace, key.metadata.name);
    // Returns the new version of the key: a second write over the old version would be refused.
    return shown !== undefined && isDeepStrictEqual(shown.status, status) ? shown : { ...key, status };
  }

  /** Makes the Secret correct, and returns the facts for the status. */
  async function secured(
    shown: Key,
    context: ReconcileContext,
  ): Promise<{ facts: KeyFacts; awaits: boolean }> {
    const { signal } = context;
    const { gatewayURL } = tools;
    const { secretName } = shown.spec;
    const { namespace } = shown.metadata;
    const known = knownCurrent(shown);
    if (known !== undefined)
      return { facts: factsOf(shown, { step: 'Keep' }, { current: known }, tools), awaits: false };
    let key = shown;
    let found = secretName === undefined ? undefined : await store.readSecret(namespace, secretName, signal);
    let step = secretStep({ key, secret: found, gatewayURL, nowMs: clock.now() });
    if (step.step === 'Adopt' && found !== undefined) {
      found = await store.ownSecret(found, ownersAfterAdoption(key, found), signal);
      step = secretStep({ key, secret: found, gatewayURL, nowMs: clock.now() });
      if (step.step !== 'Issue')
        tell(store, key, 'SecretAdopted', `The key in the Secret "${secretName}" is in force again.`);
      context.log.info({ secret: secretName }, `Adopted Secret of ${kind}`);
    }
    const isRevoked = step.step === 'Create' && (key.status?.hashes ?? []).length > 0;
    if (isRevoked) key = await write(key, withoutProof(revokedStatus(key)), signal);
    const secret = await carryOut(key, found, step, tools, signal);
    const issued = issueReason(step, isRevoked);
    if (issued !== undefined) {
      tell(store, key, issued, `${issueNotes[issued]} "${secretName}".`);
      context.log.info({ secret: secretName, reason: issued }, `Issued key of ${kind}`);
    }
    const facts = factsOf(key, step, { found, secret }, tools);
    note(key, facts, secret);
    return { facts, awaits: step.step === 'Wait' };
  }

  async function publish(facts: KeyFacts, signal: AbortSignal): Promise<number | undefined> {
    const { key } = facts;
    const inForceOf = (hashes: KeyStatus['hashes']) => tools.proofs?.observe(key, hashes);
    const { status, ready, nextDueMs } = planKey(facts, inForceOf);
    if (status === undefined) return nextDueMs;
    const before = conditionOf(key.status?.conditions, 'Ready')?.reason;
    await write(key, status, signal);
    const isBad = ready.status === 'False' || ready.reason === 'ExpiresSoon';
    if (before !== ready.reason && isBad) tell(store, key, ready.reason, ready.message);
    return nextDueMs;
  }

  return async (id, context) => {
    const { signal } = context;
    const [namespace = '', name = ''] = id.split('/');
    const shown = store.get(kind, namespace, name);
    if (shown === undefined) {
      correct.delete(id);
      tools.proofs?.forget(kind, id);
      return {};
    }
    const { facts, awaits } = await secured(shown, context).catch(async (error: unknown) => {
      if (error instanceof StoreError && (error.reason === 'Forbidden' || error.reason === 'Invalid')) {
        // Also written as a condition, because the person who can fix it may not be able to read this log.
        await publish(failedFacts(shown, error.message, tools), signal);
      }
      throw error;
    });
    const nextDueMs = await publish(facts, signal);
    if (awaits) return { requeueAfterMs: waitMs };
    const dueMs = nextDueMs === undefined ? undefined : Math.max(nextDueMs - clock.now(), 0);
    const waits = [dueMs, tools.proofs?.recheckMs(kind, id)].filter((each) => each !== undefined);
    return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
  };
}

/** Other hashes are not what gateways were proven to apply. */
function withoutProof(status: KeyStatus | undefined): KeyStatus {
  return { ...status, conditions: status?.conditions?.filter(({ type }) => type !== 'InForce') };
}

function failedFacts(key: Key, failure: string, tools: KeyTools): KeyFacts {
  return { ...factsOf(key, { step: 'Keep' }, {}, tools), secret: 'Failed', failure };
}

/** Writes the Secret as the step says. Returns the owned Secret that holds the key now, if there is one. */
async function carryOut(
  key: Key,
  found: Secret | undefined,
  step: SecretStep,
  { store, randomBytes, gatewayURL }: KeyTools,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  const { secretName = '' } = key.spec;
  const fresh = (scheduled: number) => ({
    text: generateKeyText(textKindOf(key), randomBytes),
    revision: wantedRevision(key) + scheduled,
    scheduled,
    gatewayURL,
  });
  switch (step.step) {
    case 'Keep':
      return found;
    case 'Create':
      return store.createSecret(newSecret(key, secretName, fresh(0)), signal);
    case 'Issue':
      return found && store.applySecret(changedSecret(key, found, fresh(step.scheduled)), signal);
    case 'Refresh':
      return found && store.applySecret(changedSecret(key, found, step.content), signal);
    case 'Adopt':
    case 'Conflict':
    case 'Wait':
      return undefined;
  }
}

/** The status of a key whose Secret was deleted: its key and all former ones open nothing. */
function revokedStatus({ status }: Key): KeyStatus {
  const retiredHashes = nextRetired(status, []);
  return { ...status, hashes: [], ...(retiredHashes.length === 0 ? {} : { retiredHashes }) };
}

function idOf({ metadata }: Key): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** What a Secret was found correct for. */
function markOf({ metadata }: Key, hash: string, version: string): string {
  return `${metadata.uid} ${metadata.generation} ${version} ${hash}`;
}

/** `found` is the Secret before the step, `secret` the owned one after it; `current` is the key in it if it was not read. */
function factsOf(
  key: Key,
  step: SecretStep,
  {
    found,
    secret,
    current: known,
  }: {
    readonly found?: Secret | undefined;
    readonly secret?: Secret | undefined;
    readonly current?: CurrentKey | undefined;
  },
  tools: KeyTools,
): KeyFacts {
  const isRefused = step.step === 'Issue' && step.cause === 'Refused';
  const before = found === undefined ? undefined : currentOf(key, found)?.hash;
  const isDeleted = found?.metadata.deletionTimestamp !== undefined;
  const current = secret === undefined ? known : currentOf(key, secret);
  const hash = key.spec.hash ?? current?.hash;
  const [owner] = hash === undefined ? [] : tools.store.claims(hash);
  return {
    key,
    secret:
      key.spec.secretName === undefined
        ? 'NotUsed'
        : step.step === 'Conflict'
          ? 'Conflict'
          : step.step === 'Wait'
            ? 'Waiting'
            : 'Issued',
    current,
    refused: isRefused ? before : undefined,
    held: secret === undefined && !isDeleted ? before : undefined,
    contestedBy: owner === undefined || isSame(owner, key) ? undefined : owner,
    missing: key.kind === 'APIKey' ? missingModels(key, tools.store, tools.homeNamespace) : undefined,
    nowMs: tools.clock.now(),
  };
}

function currentOf(key: Key, secret: Secret): CurrentKey | undefined {
  const text = textOf(secret);
  if (text === undefined || !isGenerated(key, text)) return undefined;
  return {
    hash: hashKeyText(text),
    hint: keyHint(text),
    revision: revisionOf(secret) ?? issuedRevision(key),
  };
}

function isSame(a: Key, b: Key): boolean {
  const [one, other] = [a.metadata, b.metadata];
  return a.kind === b.kind && one.namespace === other.namespace && one.name === other.name;
}

type IssueReason = 'KeyIssued' | 'KeyRotated' | 'SecretReissued' | 'FormerKeyRefused';

const issueNotes: Record<IssueReason, string> = {
  KeyIssued: 'A key was generated into the Secret',
  KeyRotated: 'A new key was generated into the Secret for the rotation',
  SecretReissued: 'The former key was revoked and a new one generated into the Secret',
  FormerKeyRefused:
    'A key that was rotated or revoked before came back by the Secret and was refused; a new one was generated into the Secret',
};

const issueReasons = {
  Rotated: 'KeyRotated',
  Reissued: 'SecretReissued',
  Refused: 'FormerKeyRefused',
} as const;

function issueReason(step: SecretStep, isRevoked: boolean): IssueReason | undefined {
  if (step.step === 'Create') return isRevoked ? 'SecretReissued' : 'KeyIssued';
  return step.step === 'Issue' ? issueReasons[step.cause] : undefined;
}

const news: ReadonlySet<Reason> = new Set(['KeyIssued', 'KeyRotated', 'SecretReissued', 'SecretAdopted']);

function tell(store: ControllerStore, key: Key, reason: Reason, note: string): void {
  const { namespace, name, uid = '' } = key.metadata;
  const isNews = news.has(reason);
  store.recordEvent({
    regarding: { kind: key.kind, namespace, name, uid },
    type: isNews ? 'Normal' : 'Warning',
    reason,
    action: isNews ? 'IssueKey' : 'JudgeKey',
    note,
  });
}
