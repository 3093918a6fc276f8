import type { UpstreamConnection } from './connection.ts';
import { Exchange } from './exchange.ts';
import type { UpstreamHandler } from './handler.ts';
import type { Pool } from './pool.ts';
import type { UpstreamRequest } from './request.ts';

/**
 * Sends one request and passes the answer's bytes on as they arrive. No callback is called before this returns. If the node
 * closes a reused connection within a second of the request and before any byte of an answer, the request is sent once more
 * on a fresh connection; the handler does not notice. `abort()` closes the connection immediately, in any state.
 * `sent` says whether the memory of the request's body may be reused.
 */
export function send(
  pool: Pool,
  connection: UpstreamConnection,
  request: UpstreamRequest,
  handler: UpstreamHandler,
): { abort(): void; readonly sent: boolean } {
  return new Exchange(pool, connection, request, handler);
}
