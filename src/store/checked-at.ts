import { timeOf } from '../resources/time.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';

/** When the status was last confirmed, by a health check or a sync, in milliseconds since 1970; 0 for never. */
export function checkedAtMs({ status }: UpstreamNode): number {
  return Math.max(timeOf(status?.lastHealthCheckTime) ?? 0, timeOf(status?.lastSyncTime) ?? 0);
}
