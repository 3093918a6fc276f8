import { conditionOf } from '../../resources/condition-of.ts';
import { lastSuccessfulSync } from '../../resources/last-successful-sync.ts';
import { timeText } from '../../resources/time.ts';
import type { UpstreamNodeStatus } from '../../resources/upstream-node.ts';
import type { Observation } from '../conditions.ts';
import type { Finding } from './finding.ts';
import type { Gathered } from './gather.ts';
import { hasManualList } from './models.ts';
import type { SyncVerdict } from './verdict.ts';

type SyncFields = Pick<
  UpstreamNodeStatus,
  'lastSyncTime' | 'lastSuccessfulSyncTime' | 'lastSyncError' | 'syncedWith' | 'lastHandledSyncRequest'
>;

/** What the status says about the last sync. `healed`: that sync found no listing, and there is a manual list now. */
export interface SyncStatus {
  readonly fields: SyncFields;
  readonly observation: Observation;
  readonly healed: boolean;
}

const synced = { type: 'ModelsSynced', status: 'True' } as const;
const manualApplied: Observation = {
  ...synced,
  reason: 'ManualModelsApplied',
  message: 'The model list is the manual one.',
};

/** The status of the sync that ended now, or of the last one if none did. */
export function syncStatus(gathered: Gathered, { sync, local }: Finding): SyncStatus {
  const { node, contact, credentialVersion, syncRequest, nowMs } = gathered;
  const before = node.status ?? {};
  const syncedWith = {
    baseURL: node.spec.baseURL,
    ...(credentialVersion === '' ? {} : { secretResourceVersion: credentialVersion }),
  };
  if (sync !== undefined && contact !== undefined) {
    const failure = failureOf(sync);
    const handled = contact.syncRequest;
    return {
      fields: {
        lastSyncTime: timeText(contact.atMs),
        ...(failure === undefined ? { lastSuccessfulSyncTime: timeText(contact.atMs) } : lastSuccess(before)),
        ...(failure === undefined ? {} : { lastSyncError: failure.message }),
        syncedWith,
        ...(handled === undefined ? {} : { lastHandledSyncRequest: handled }),
      },
      observation: failure ?? successOf(sync),
      healed: false,
    };
  }
  if (local === 'Manual') {
    const handled = syncRequest ?? before.lastHandledSyncRequest;
    return {
      fields: {
        lastSyncTime: timeText(nowMs),
        lastSuccessfulSyncTime: timeText(nowMs),
        syncedWith,
        ...(handled === undefined ? {} : { lastHandledSyncRequest: handled }),
      },
      observation: manualApplied,
      healed: false,
    };
  }
  if (local === 'Postponed') return { fields: { syncedWith }, observation: manualApplied, healed: false };
  return unsynced(before, hasManualList(node));
}

function failureOf(sync: SyncVerdict): Observation | undefined {
  if (sync.kind !== 'Failed') return undefined;
  const { reason, message } = sync.fault;
  return { type: 'ModelsSynced', status: 'False', reason, message: message.slice(0, 1_024).toWellFormed() };
}

function successOf(sync: SyncVerdict): Observation {
  if (sync.kind === 'Names') return namesSynced(sync.truncated);
  const hint = sync.kind === 'NoEndpoint' ? sync.hint : undefined;
  return hint === undefined
    ? manualApplied
    : { ...manualApplied, message: `${manualApplied.message} ${hint}` };
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

function lastSuccess(
  status: Parameters<typeof lastSuccessfulSync>[0],
): Pick<SyncFields, 'lastSuccessfulSyncTime'> {
  const time = lastSuccessfulSync(status);
  return time === undefined ? {} : { lastSuccessfulSyncTime: time };
}

/** The status of the last sync, if none ended now. */
function unsynced(before: UpstreamNodeStatus, hasManual: boolean): SyncStatus {
  const { lastSyncTime, lastSyncError, syncedWith, lastHandledSyncRequest } = before;
  const condition = conditionOf(before.conditions, 'ModelsSynced');
  const wasListless = condition?.status === 'False' && condition.reason === 'NoModels';
  // There is a manual list now, and it applies without contacting the node.
  const healed = wasListless && hasManual;
  return {
    fields: {
      ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
      // Only the list was missing, so the sync counts as a success.
      ...lastSuccess(healed && lastSyncTime !== undefined ? { lastSyncTime } : before),
      ...(lastSyncError === undefined || healed ? {} : { lastSyncError }),
      ...(syncedWith === undefined ? {} : { syncedWith }),
      ...(lastHandledSyncRequest === undefined ? {} : { lastHandledSyncRequest }),
    },
    observation: healed
      ? manualApplied
      : condition === undefined
        ? { type: 'ModelsSynced', status: 'Unknown', reason: 'Pending', message: 'No sync has ended yet.' }
        : (condition as Observation),
    healed,
  };
}
