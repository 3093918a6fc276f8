import type { UpstreamConnection } from '../../upstream/connection.ts';
import { checkHealth, listModels } from '../../upstream/list-models.ts';
import type { Pools } from '../../upstream/pools.ts';
import type { ContactKind } from './memory.ts';
import type { Answer } from './verdict.ts';

/** A sync reads at most this much: 20 pages of Anthropic's size, or 50,000 names of OpenAI's. */
const syncLimits = { maxBytes: 16 * 1_024 * 1_024, maxModels: 50_000 };
const longestSyncMs = 30_000;

/** Asks a node for its models or its health. Rejects only when `signal` aborts. */
export type AskNode = (
  id: string,
  kind: ContactKind,
  connection: UpstreamConnection,
  checkTimeoutMs: number,
  signal: AbortSignal,
) => Promise<Answer>;

/** Asks over real connections, from the pools that the process keeps. `now` gives milliseconds since 1970. */
export function askOver(pools: Pools, now: () => number): AskNode {
  return (id, kind, connection, checkTimeoutMs, signal) => {
    const pool = pools.pool(id, connection);
    if (kind === 'check') return checkHealth(pool, connection, checkTimeoutMs, signal, now);
    const timeoutMs = Math.min(connection.timeouts.totalSeconds * 1_000, longestSyncMs);
    return listModels(pool, connection, { ...syncLimits, timeoutMs }, signal, now);
  };
}
