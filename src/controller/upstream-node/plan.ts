import { timeOf, timeText } from '../../resources/time.ts';
import type { UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import { conditionList, isStored, type Observation } from '../conditions.ts';
import { type DueContact, dueContact, nextDue } from './due.ts';
import { type NodeEvent, nodeEvents } from './events.ts';
import { type Finding, finding } from './finding.ts';
import type { Gathered } from './gather.ts';
import type { NodeMemory } from './memory.ts';
import { isNarrower } from './model-filter.ts';
import { modelRoom } from './model-room.ts';
import { type Listing, type MergedModels, mergeModels } from './models.ts';
import { phaseOf, reachability, readinessOf } from './readiness.ts';
import { syncStatus } from './sync-status.ts';
import { withUnknownWishes } from './unknown-wishes.ts';
import type { Health, SyncVerdict } from './verdict.ts';

/** What to do about a node. */
export interface NodePlan {
  /** The status to write; undefined if it is correct. */
  readonly status: UpstreamNodeStatus | undefined;
  /** The Events to send once the status is written. */
  readonly events: readonly NodeEvent[];
  /** What to contact the node for now. */
  readonly contact: DueContact | undefined;
  /** When to reconcile again, in milliseconds since 1970; undefined if only a change or the end of the contact can matter. */
  readonly nextDueMs: number | undefined;
  /** The memory to keep once the status is written. */
  readonly memory: NodeMemory;
}

/** A successful check without news writes its time only if the time in the status is older than this. */
const checkTimeGrainMs = 300_000;

/**
 * Decides about one node. Pure: the same facts give the same plan, and after a plan was carried out the next one writes
 * nothing. First it computes the status with the contact that ended; then it derives from that status what is due next.
 */
export function plan(gathered: Gathered): NodePlan {
  const { node, credentials, memory, nowMs } = gathered;
  // While the process starts, the credential is not known yet, so the status and its conditions are kept.
  if (credentials.state === 'Pending' && (node.status?.conditions ?? []).length > 0) {
    return { status: undefined, events: [], contact: undefined, nextDueMs: undefined, memory };
  }
  const found = finding(gathered);
  const remembered = remember(gathered, found);
  const models = modelsOf(gathered, found);
  const candidate = settled(gathered, found, statusOf(gathered, found, remembered, models));
  const status = isStored(node.status, candidate) ? undefined : candidate;
  const after: Gathered = {
    ...gathered,
    node: { ...node, status: candidate },
    memory: remembered,
    contact: undefined,
    nowMs,
  };
  const contact = dueContact(after);
  return {
    status,
    events: nodeEvents(node, candidate, models),
    contact,
    nextDueMs: contact === undefined ? nextDue(after) : undefined,
    memory: remembered,
  };
}

/**
 * The current models. If neither the spec nor the listing changed, this is the same list object as in the last status:
 * merging 1,000 nodes of 500 models at each check would be most of the controller's work.
 */
function modelsOf({ node }: Gathered, { sync }: Finding): MergedModels {
  const { models, observedGeneration, modelsTruncated = false } = node.status ?? {};
  const listing: Listing = sync === undefined || sync.kind === 'Failed' ? { kind: 'Unasked' } : sync;
  const isSettled = listing.kind === 'Unasked' && observedGeneration === node.metadata.generation;
  if (isSettled && models !== undefined) {
    return { models, truncated: modelsTruncated, added: [], removed: [] };
  }
  return mergeModels(models ?? [], node.spec, listing, modelRoom(node));
}

function remember(gathered: Gathered, { health, sync, changed }: Finding): NodeMemory {
  const { contact, credentials, memory, connectionKey } = gathered;
  const isNew = memory.connectionKey !== undefined && memory.connectionKey !== connectionKey;
  const base: NodeMemory = {
    ...memory,
    // A pending credential keeps the key, so that its first reading does not count as a change.
    connectionKey: credentials.state === 'Pending' ? memory.connectionKey : connectionKey,
    connectionChanged: changed,
    discovery: discoveryKnown(gathered, sync),
    patterns: patternsKnown(gathered, sync),
    ...(isNew ? { unreachable: 0, failedSyncs: 0, notBeforeMs: 0 } : {}),
  };
  if (contact === undefined) return base;
  const { answer, atMs } = contact;
  const retryAfter = answer.kind === 'status' ? (answer.retryAfterSeconds ?? 0) : 0;
  return {
    ...base,
    contacts: memory.contacts + 1,
    lastContactMs: atMs,
    unreachable: unreachableAfter(base.unreachable, health),
    failedSyncs: sync === undefined ? base.failedSyncs : sync.kind === 'Failed' ? base.failedSyncs + 1 : 0,
    notBeforeMs: atMs + Math.min(retryAfter, longestRetryAfterSeconds) * 1_000,
  };
}

const longestRetryAfterSeconds = 300;

/** The `discovery` to remember. A change to `Always` is remembered only after a sync, because until then the sync is due. */
function discoveryKnown({ memory, node }: Gathered, sync: SyncVerdict | undefined): 'Always' | 'Never' {
  const isAwaited = memory.discovery === 'Never' && sync === undefined;
  return isAwaited ? 'Never' : node.spec.sync.discovery;
}

/** The patterns to remember. Patterns that admit more models are remembered only after a sync, which is due until then. */
function patternsKnown({ memory, node }: Gathered, sync: SyncVerdict | undefined): NodeMemory['patterns'] {
  const { models } = node.spec.sync;
  const isAwaited =
    memory.patterns !== undefined && sync === undefined && !isNarrower(memory.patterns.models, models);
  return isAwaited ? memory.patterns : { models };
}

function unreachableAfter(before: number, health: Health | undefined): number {
  if (health === undefined || health.state === 'Unchanged') return before;
  return health.state === 'Bad' && health.unreachable ? before + 1 : 0;
}

function statusOf(
  gathered: Gathered,
  found: Finding,
  memory: NodeMemory,
  { models, truncated }: MergedModels,
): UpstreamNodeStatus {
  const { node, credentials, contact, nowMs } = gathered;
  const before = node.status ?? {};
  const generation = node.metadata.generation ?? 0;
  const sync = syncStatus(gathered, found);
  const standing = {
    node,
    credentials,
    health: found.health,
    unreachable: memory.unreachable,
    changed: found.changed,
    modelCount: models.length,
    sync: sync.observation,
    healed: sync.healed,
  };
  const phase = phaseOf(standing);
  const { ready, progress } = readinessOf(standing);
  const enabledCount = models.filter(({ enabled }) => enabled).length;
  const checkTime = checkTimeOf(before, found, contact?.atMs);
  const observations = [
    ready,
    reachability(standing),
    withUnknownWishes(sync.observation, node, models),
    credentialsObservation(gathered),
  ] as const;
  return {
    observedGeneration: generation,
    phase,
    models,
    ...(isTruncated(found, before, truncated) ? { modelsTruncated: true } : {}),
    modelCount: models.length,
    enabledModelCount: enabledCount,
    enabledModels: `${enabledCount}/${models.length}`,
    ...sync.fields,
    ...(checkTime === undefined ? {} : { lastHealthCheckTime: checkTime }),
    apiKeySet: credentials.state === 'Resolved' && credentials.apiKeySet,
    conditions: conditionList(observations, progress, before.conditions, generation, nowMs),
  };
}

function isTruncated({ sync }: Finding, before: UpstreamNodeStatus, truncated: boolean): boolean {
  const isAsked = sync !== undefined && sync.kind !== 'Failed';
  return truncated || (!isAsked && before.modelsTruncated === true);
}

function checkTimeOf(
  before: UpstreamNodeStatus,
  { health, changed }: Finding,
  atMs: number | undefined,
): string | undefined {
  if (changed) return undefined;
  if (health === undefined || atMs === undefined) return before.lastHealthCheckTime;
  // A node that has only answered 429 was not checked yet.
  if (health.state === 'Unchanged' && before.lastHealthCheckTime === undefined) return undefined;
  return timeText(atMs);
}

function credentialsObservation({ credentials }: Gathered): Observation {
  const type = 'CredentialsResolved';
  switch (credentials.state) {
    case 'Refused':
      return { type, status: 'False', reason: credentials.reason, message: credentials.message };
    case 'Pending':
      return { type, status: 'Unknown', reason: 'Pending', message: 'The credential was not looked up yet.' };
    case 'Resolved':
      return credentials.apiKeySet
        ? { type, status: 'True', reason: 'CredentialsResolved', message: 'The credential was found.' }
        : { type, status: 'True', reason: 'NoCredentials', message: 'The node names no credential.' };
  }
}

/**
 * Keeps the times of the last status if nothing else changed and they are recent enough: each status write is sent to every
 * gateway, so a check without news must not write.
 */
function settled(
  { node, nowMs }: Gathered,
  { sync }: Finding,
  status: UpstreamNodeStatus,
): UpstreamNodeStatus {
  const before = node.status;
  if (before === undefined) return status;
  const kept = { ...status };
  const isFresh = (time: string | undefined): boolean => {
    const ageMs = nowMs - (timeOf(time) ?? 0);
    // A time from the future is corrected.
    return ageMs >= 0 && ageMs < checkTimeGrainMs;
  };
  if (isFresh(before.lastHealthCheckTime) && status.lastHealthCheckTime !== undefined) {
    kept.lastHealthCheckTime = before.lastHealthCheckTime;
  }
  if (sync !== undefined && status.lastSyncError !== undefined && isFresh(before.lastSyncTime)) {
    kept.lastSyncTime = before.lastSyncTime;
  }
  return isStored(before, kept) ? kept : status;
}
