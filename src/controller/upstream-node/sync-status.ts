import type { UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import { conditionOf, type Observation } from '../conditions.ts';
import { timeText } from '../time.ts';
import type { Finding } from './finding.ts';
import type { Gathered } from './gather.ts';
import type { SyncVerdict } from './verdict.ts';

type SyncFields = Pick<
  UpstreamNodeStatus,
  'lastSyncTime' | 'lastSyncError' | 'syncedWith' | 'lastHandledSyncRequest'
>;

/** What the last sync left in the status. `listless`: no listing endpoint, and no manual list. */
export interface SyncStatus {
  readonly fields: SyncFields;
  readonly observation: Observation;
  readonly listless: boolean;
}

const synced = { type: 'ModelsSynced', status: 'True' } as const;
const manualApplied: Observation = {
  ...synced,
  reason: 'ManualModelsApplied',
  message: 'The model list is the manual one.',
};
const listlessMessage =
  'GET {baseURL}/models answered 404: the node has no listing. Set spec.manualModels to the models that it serves.';

/** What the status says of syncs: of the one that ended now, or of the earlier one. */
export function syncStatus(gathered: Gathered, { sync, local }: Finding): SyncStatus {
  const { node, contact, credentialVersion, syncRequest, nowMs } = gathered;
  const before = node.status ?? {};
  const syncedWith = {
    baseURL: node.spec.baseURL,
    ...(credentialVersion === '' ? {} : { secretResourceVersion: credentialVersion }),
  };
  const hasManual = (node.spec.manualModels ?? []).length > 0;
  if (sync !== undefined && contact !== undefined) {
    const failure = failureOf(sync, hasManual);
    const handled = contact.syncRequest;
    return {
      fields: {
        lastSyncTime: timeText(contact.atMs),
        ...(failure === undefined ? {} : { lastSyncError: failure.message }),
        syncedWith,
        ...(handled === undefined ? {} : { lastHandledSyncRequest: handled }),
      },
      observation: failure ?? (sync.kind === 'Names' ? namesSynced(sync.truncated) : manualApplied),
      listless: failure?.reason === 'NoModels',
    };
  }
  if (local === 'Manual') {
    const handled = syncRequest ?? before.lastHandledSyncRequest;
    return {
      fields: {
        lastSyncTime: timeText(nowMs),
        syncedWith,
        ...(handled === undefined ? {} : { lastHandledSyncRequest: handled }),
      },
      observation: manualApplied,
      listless: false,
    };
  }
  if (local === 'Postponed') return { fields: { syncedWith }, observation: manualApplied, listless: false };
  return unsynced(before, hasManual);
}

function failureOf(sync: SyncVerdict, hasManual: boolean): Observation | undefined {
  const failed = { type: 'ModelsSynced', status: 'False' } as const;
  if (sync.kind === 'NoEndpoint' && !hasManual) {
    return { ...failed, reason: 'NoModels', message: listlessMessage };
  }
  if (sync.kind !== 'Failed') return undefined;
  return { ...failed, reason: sync.fault.reason, message: sync.fault.message.slice(0, 1_024).toWellFormed() };
}

function namesSynced(truncated: boolean): Observation {
  return truncated
    ? {
        ...synced,
        reason: 'ModelsTruncated',
        message: 'The node lists more models than are kept; the rest was left out.',
      }
    : {
        ...synced,
        reason: 'ModelsSynced',
        message: 'The model list is the one that the node answered with.',
      };
}

/** What an earlier sync left, where none ended now. */
function unsynced(before: UpstreamNodeStatus, hasManual: boolean): SyncStatus {
  const { lastSyncTime, lastSyncError, syncedWith, lastHandledSyncRequest } = before;
  const condition = conditionOf(before.conditions, 'ModelsSynced');
  const wasListless = condition?.status === 'False' && condition.reason === 'NoModels';
  // The list that was missing is there now, and a manual list applies without contacting the node.
  const isHealed = wasListless && hasManual;
  return {
    fields: {
      ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
      ...(lastSyncError === undefined || isHealed ? {} : { lastSyncError }),
      ...(syncedWith === undefined ? {} : { syncedWith }),
      ...(lastHandledSyncRequest === undefined ? {} : { lastHandledSyncRequest }),
    },
    observation: isHealed
      ? manualApplied
      : condition === undefined
        ? { type: 'ModelsSynced', status: 'Unknown', reason: 'Pending', message: 'No sync has ended yet.' }
        : (condition as Observation),
    listless: wasListless && !isHealed,
  };
}
