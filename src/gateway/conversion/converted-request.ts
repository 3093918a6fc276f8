import type { IncomingHttpHeaders } from 'node:http';
import type { Converted } from '../../convert/converted-formats.ts';
import type { Log } from '../../observe/log.ts';
import type { AttemptTrace } from '../../observe/tracing.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import type { UpstreamHandler } from '../../upstream/handler.ts';
import type { Pool } from '../../upstream/pool.ts';
import { send } from '../../upstream/send.ts';
import type { BufferShare } from '../admission/buffer-budget.ts';
import { hopsHeader, nextHop } from '../admission/hops.ts';
import type { AttemptListeners } from '../attempt/attempt-end.ts';
import type { Limits } from '../limits.ts';
import type { LargeWork } from '../thread/large-work.ts';
import type { Conversion } from './conversion.ts';

/** What a converted attempt needs. It does not change while the attempt runs. */
export interface ConvertedOptions extends AttemptListeners {
  readonly pool: Pool;
  readonly connection: UpstreamConnection;
  readonly conversion: Conversion;
  readonly converted: Converted;
  /** The idempotency key for the node; undefined if the caller sent none. */
  readonly idempotencyKey: string | undefined;
  /** Headers of the gateway's own for an answer, flat: which node, how many attempts, what was converted. */
  readonly headers: readonly string[];
  readonly limits: Limits;
  readonly share: BufferShare;
  readonly largeWork: LargeWork;
  readonly log: Log;
  /** The attempt's span; undefined if tracing is off. */
  readonly span: AttemptTrace | undefined;
  /** Called with labels of what the node sent and the caller's format cannot carry. */
  readonly onLost: (lost: readonly string[]) => void;
}

/** Headers that mean the same for every format. */
const passed = ['traceparent', 'tracestate'] as const;

/** Sends the next chat request of a converted request. Throws if all were sent. */
export function sendNextChat(
  { pool, connection, caller, conversion, converted, idempotencyKey, span }: ConvertedOptions,
  handler: UpstreamHandler,
): { abort(): void } {
  const callers = chatHeaders(caller.request.headers);
  // If several requests had the same idempotency key, all of them would get the answer of the first.
  if (idempotencyKey !== undefined && converted.choices === 1)
    callers.push('idempotency-key', idempotencyKey);
  const headers = span === undefined ? callers : span.headers(callers);
  const body = conversion.takeNext();
  return send(pool, connection, { method: 'POST', path: '/chat/completions', headers, body }, handler);
}

/** The caller's headers that a node gets with a converted request, flat. */
function chatHeaders(headers: IncomingHttpHeaders): string[] {
  const flat = ['content-type', 'application/json', hopsHeader, nextHop(headers)];
  for (const name of passed) {
    const value = headers[name];
    if (typeof value === 'string') flat.push(name, value);
  }
  return flat;
}
