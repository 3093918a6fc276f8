import type { UpstreamNodeStatus } from './upstream-node.ts';

/** When a sync succeeded last, in RFC 3339. A status of an earlier version says only whether its last sync failed. */
export function lastSuccessfulSync(
  status: Pick<UpstreamNodeStatus, 'lastSuccessfulSyncTime' | 'lastSyncTime' | 'lastSyncError'> | undefined,
): string | undefined {
  return (
    status?.lastSuccessfulSyncTime ?? (status?.lastSyncError === undefined ? status?.lastSyncTime : undefined)
  );
}
