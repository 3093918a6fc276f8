import { conditionOf } from '../../resources/condition-of.ts';
import { timeOf } from '../../resources/time.ts';
import { fractionOf, jittered } from '../spread.ts';
import type { Gathered } from './gather.ts';
import { isDiscovering } from './models.ts';
import { stalls } from './verdict.ts';

/** Contacts that are overdue when this process starts are spread over at most this time. */
const longestSpreadMs = 300_000;
const longestRetryMs = 300_000;

/**
 * When the next health check is due, in milliseconds since 1970; undefined if none is. The interval varies by ±10 %, depending
 * on the node's name and the time of the last check. The second contact of this process comes earlier, after a share of the
 * interval that depends on the name, and contacts that are overdue at the start are spread in the same way. Otherwise a
 * thousand nodes that were created or taken over at the same time would always be checked at the same time.
 */
export function nextCheck({ id, node, memory, nowMs }: Gathered): number | undefined {
  const { mode, intervalSeconds } = node.spec.healthCheck;
  if (mode === 'None') return undefined;
  const interval = intervalSeconds * 1_000;
  if (memory.lastContactMs !== undefined) {
    const first = Math.max(0.1, fractionOf(id)) * interval;
    const wait = memory.contacts === 1 ? first : jittered(interval, `${id} ${memory.lastContactMs}`);
    return Math.max(memory.lastContactMs + wait, memory.notBeforeMs);
  }
  return spread(pastOf(lastCheck({ id, node, memory }), nowMs, memory), interval, id, memory.sinceMs);
}

/** When the next scheduled sync is due; undefined if none is. The interval varies by ±10 %, as that of checks does. */
export function nextSync({ id, node, memory, nowMs }: Gathered): number | undefined {
  if (!isDiscovering(node)) return undefined;
  const interval = node.spec.sync.intervalSeconds * 1_000;
  const told = timeOf(node.status?.lastSyncTime) ?? timeOf(node.metadata.creationTimestamp) ?? memory.sinceMs;
  // A sync that failed for the same reason as the one before is written only every few minutes, so memory knows more.
  const tried = node.status?.lastSyncError === undefined ? undefined : memory.lastContactMs;
  const last = Math.max(told, tried ?? 0);
  return Math.max(
    spread(pastOf(last, nowMs, memory), interval, `${id} sync`, memory.sinceMs),
    memory.notBeforeMs,
  );
}

/**
 * When a failed sync is retried; undefined if the last one did not fail. If the node cannot be reached, or only a change can fix
 * the sync, it is not retried more often than checks are due, because each retry counts as a failed check.
 */
export function nextRetry(gathered: Gathered): number | undefined {
  const { node, memory, id } = gathered;
  if (node.status?.lastSyncError === undefined || !isDiscovering(node)) return undefined;
  if (memory.lastContactMs === undefined) {
    return (
      memory.sinceMs +
      fractionOf(id) * Math.min(longestSpreadMs, node.spec.healthCheck.intervalSeconds * 1_000)
    );
  }
  const backoff = Math.min(10_000 * 2 ** Math.min(Math.max(memory.failedSyncs - 1, 0), 10), longestRetryMs);
  const { mode, intervalSeconds } = node.spec.healthCheck;
  const interval = intervalSeconds * 1_000;
  const failure = conditionOf(node.status.conditions, 'ModelsSynced')?.reason ?? '';
  const isPatient = memory.unreachable > 0 || stalls(failure);
  const wait = mode === 'None' ? backoff : isPatient ? interval : Math.min(interval, backoff);
  const text = `${id} ${memory.lastContactMs}`;
  return Math.max(memory.lastContactMs + jittered(wait, text), memory.notBeforeMs);
}

function lastCheck({ node, memory }: Pick<Gathered, 'id' | 'node' | 'memory'>): number {
  return (
    timeOf(node.status?.lastHealthCheckTime) ?? timeOf(node.metadata.creationTimestamp) ?? memory.sinceMs
  );
}

/** Replaces a time in the future by the time of this process's start. A leader with a fast clock wrote it, and no check would be due until then. */
function pastOf(timeMs: number, nowMs: number, { sinceMs }: Gathered['memory']): number {
  return timeMs > nowMs ? sinceMs : timeMs;
}

function spread(lastMs: number, intervalMs: number, id: string, sinceMs: number): number {
  const due = lastMs + jittered(intervalMs, `${id} ${lastMs}`);
  if (due >= sinceMs) return due;
  return sinceMs + fractionOf(id) * Math.min(intervalMs, longestSpreadMs);
}
