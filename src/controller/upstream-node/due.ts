import { conditionOf } from '../../resources/condition-of.ts';
import type { Urgency } from '../queue.ts';
import type { Gathered } from './gather.ts';
import type { ContactKind } from './memory.ts';
import { isNarrower } from './model-filter.ts';
import { hasManualList, isDiscovering } from './models.ts';
import { nextCheck, nextRetry, nextSync } from './schedule.ts';

/** Why something is due now, for the debug log; undefined if it is not due. */
type Cause = (gathered: Gathered) => string | undefined;

/** Whether the connection differs from that of the last sync or plan. */
function isReconnected({ node, credentials, credentialVersion, connectionKey, memory }: Gathered): boolean {
  if (memory.connectionKey !== undefined) return memory.connectionKey !== connectionKey;
  const synced = node.status?.syncedWith;
  if (synced === undefined) return false;
  if (synced.baseURL !== node.spec.baseURL) return true;
  if (credentials.state !== 'Resolved') return false;
  // The credential was refused before a restart and is resolved now, perhaps with the same version.
  if (conditionOf(node.status?.conditions, 'CredentialsResolved')?.status === 'False') return true;
  return (synced.secretResourceVersion ?? '') !== credentialVersion;
}

/** Whether the connection changed and no contact has ended since, by memory and status. */
export function connectionChanged(gathered: Gathered): boolean {
  return gathered.memory.connectionChanged || isReconnected(gathered);
}

const neverSynced: Cause = ({ node }) =>
  node.status?.syncedWith === undefined ? 'it was never synced' : undefined;

const reconnected: Cause = (gathered) =>
  connectionChanged(gathered) ? 'its connection or credential changed' : undefined;

const requested: Cause = ({ node, syncRequest }) =>
  syncRequest !== undefined && syncRequest !== node.status?.lastHandledSyncRequest
    ? 'the annotation asks for it'
    : undefined;

const discoverySwitched: Cause = ({ node, memory }) =>
  memory.discovery !== undefined && memory.discovery !== node.spec.sync.discovery
    ? 'spec.sync.discovery changed'
    : undefined;

/** Models that the patterns admit again are unknown, because the status does not keep models that were left out. */
const modelsWidened: Cause = ({ node, memory }) =>
  memory.patterns !== undefined && !isNarrower(memory.patterns.models, node.spec.sync.models)
    ? 'spec.sync.models changed'
    : undefined;

const failedBefore: Cause = (gathered) => {
  const { node, nowMs } = gathered;
  if (node.status?.lastSyncError === undefined) return undefined;
  const isDue = [nextRetry(gathered), nextCheck(gathered)].some((due) => due !== undefined && due <= nowMs);
  return isDue ? 'the last sync failed' : undefined;
};

const scheduled: Cause = (gathered) => {
  const due = nextSync(gathered);
  return due !== undefined && due <= gathered.nowMs ? 'its schedule says so' : undefined;
};

/** Reasons to sync now because something was changed; the first that applies is logged. */
const wishedSyncCauses: readonly Cause[] = [
  neverSynced,
  reconnected,
  requested,
  discoverySwitched,
  modelsWidened,
];

/** Reasons to sync by schedule. */
const syncCauses: readonly Cause[] = [failedBefore, scheduled];

/** Reasons to apply the manual list now, for a node with `discovery: Never`. */
const localSyncCauses: readonly Cause[] = [
  neverSynced,
  (gathered) => (isReconnected(gathered) ? 'its connection or credential changed' : undefined),
  requested,
  discoverySwitched,
  ({ node }) => (node.status?.lastSyncError === undefined ? undefined : 'an earlier sync failed'),
];

/** Reasons to check the node's health now because something was changed. */
const wishedCheckCauses: readonly Cause[] = [
  (gathered) =>
    gathered.node.spec.healthCheck.mode === 'Models' && connectionChanged(gathered)
      ? 'its connection changed'
      : undefined,
];

/** Reasons to check it by schedule. */
const checkCauses: readonly Cause[] = [
  (gathered) => {
    const due = nextCheck(gathered);
    return due !== undefined && due <= gathered.nowMs ? 'its schedule says so' : undefined;
  },
];

/** How a due sync is done without contacting the node: `Manual` applies the manual list, `Postponed` waits for the schedule. */
export type LocalSync = 'Manual' | 'Postponed' | undefined;

/** Whether the manual list is enough for the sync that is due, so that the node is not contacted. */
export function localSync(gathered: Gathered): LocalSync {
  const { node } = gathered;
  if (node.spec.sync.discovery === 'Never') {
    return first(localSyncCauses, gathered) === undefined ? undefined : 'Manual';
  }
  const isNew = neverSynced(gathered) !== undefined && requested(gathered) === undefined;
  // While syncs are suspended, a change of the connection does not lead to a sync.
  const isAwaited = isDiscovering(node) && connectionChanged(gathered);
  return isNew && hasManualList(node) && !isAwaited ? 'Postponed' : undefined;
}

/** A contact that is due, why, and whether a person or program waits for it. */
export interface DueContact {
  readonly kind: ContactKind;
  readonly cause: string;
  readonly urgency: Urgency;
}

/** The contact that is due now; undefined if none is. */
export function dueContact(gathered: Gathered): DueContact | undefined {
  const { credentials, node } = gathered;
  if (credentials.state !== 'Resolved' || node.metadata.deletionTimestamp !== undefined) return undefined;
  if (isDiscovering(node)) {
    const wished = first(wishedSyncCauses, gathered);
    if (wished !== undefined) return { kind: 'sync', cause: wished, urgency: 'Urgent' };
    const cause = first(syncCauses, gathered);
    if (cause !== undefined) return { kind: 'sync', cause, urgency: 'Background' };
  }
  const wished = first(wishedCheckCauses, gathered);
  if (wished !== undefined) return { kind: 'check', cause: wished, urgency: 'Urgent' };
  const cause = first(checkCauses, gathered);
  return cause === undefined ? undefined : { kind: 'check', cause, urgency: 'Background' };
}

/** When the next contact is due, in milliseconds since 1970; undefined if only a change can make one due. */
export function nextDue(gathered: Gathered): number | undefined {
  const { credentials, node } = gathered;
  if (credentials.state !== 'Resolved' || node.metadata.deletionTimestamp !== undefined) return undefined;
  const dues = [nextCheck(gathered), nextSync(gathered), nextRetry(gathered)].filter(
    (due) => due !== undefined,
  );
  return dues.length === 0 ? undefined : Math.min(...dues);
}

function first(causes: readonly Cause[], gathered: Gathered): string | undefined {
  for (const cause of causes) {
    const why = cause(gathered);
    if (why !== undefined) return why;
  }
  return undefined;
}
