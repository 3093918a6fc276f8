import { timeOf } from '../resources/time.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';

/**
 * When the status was last confirmed, by a health check or a sync, in milliseconds since 1970; 0 for never. A time from the
 * future, which a controller with a fast clock wrote, counts as `nowMs`; otherwise the status would never become stale.
 */
export function checkedAtMs({ status }: UpstreamNode, nowMs: number): number {
  const checkedMs = Math.max(timeOf(status?.lastHealthCheckTime) ?? 0, timeOf(status?.lastSyncTime) ?? 0);
  return Math.min(checkedMs, nowMs);
}
