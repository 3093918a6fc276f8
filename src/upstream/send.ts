import type { UpstreamConnection } from './connection.ts';
import { Exchange } from './exchange.ts';
import type { UpstreamHandler } from './handler.ts';
import type { Pool } from './pool.ts';
import type { UpstreamRequest } from './request.ts';

/**
 * Sends one request and passes the answer's bytes on as they come. The callbacks begin after this has
 * returned. A kept-alive connection that the node closed before any byte of an answer, within a second of the
 * request, is replaced by a fresh one once, unseen by the handler. `abort()` ends the connection at once, in whatever state it is.
 * `sent` says whether the memory of the request's body is free again.
 */
export function send(
  pool: Pool,
  connection: UpstreamConnection,
  request: UpstreamRequest,
  handler: UpstreamHandler,
): { abort(): void; readonly sent: boolean } {
  return new Exchange(pool, connection, request, handler);
}
