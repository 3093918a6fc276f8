import type { UpstreamNodeStatus } from './upstream-node.ts';

/** When a sync succeeded last, in RFC 3339. The status of an earlier version records only whether the last sync failed. */
export function lastSuccessfulSync(
  status: Pick<UpstreamNodeStatus, 'lastSuccessfulSyncTime' | 'lastSyncTime' | 'lastSyncError'> | undefined,
): string | undefined {
  return (
    status?.lastSuccessfulSyncTime ?? (status?.lastSyncError === undefined ? status?.lastSyncTime : undefined)
  );
}
