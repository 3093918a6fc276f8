import type { UpstreamConnection } from './connection.ts';
import type { UpstreamError } from './error.ts';
import { Exchange } from './exchange.ts';
import type { UpstreamHeaders } from './headers.ts';
import type { UpstreamPath } from './paths.ts';
import type { Pool } from './pool.ts';

/** One request to a model server. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly path: UpstreamPath;
  /** Query without `?`. */
  readonly query?: string;
  /** Flat name, value list, from the caller by allowlist. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
}

/** Receives one answer as it comes. Exactly one of `onEnd` and `onError` is called, once; nothing after `abort()`. */
export interface UpstreamHandler {
  /** The response head has come. A redirect is a response like any other. */
  onResponse(status: number, headers: UpstreamHeaders, control: { pause(): void; resume(): void }): void;
  /**
   * A piece of the body; it may be kept, its memory is not used again. After `pause()` pieces that were read
   * already can still come when the node closes the connection (at most one socket buffer).
   */
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: UpstreamError): void;
}

/**
 * Sends one request and passes the answer's bytes on as they come. The callbacks begin after this has
 * returned. A kept-alive connection that the node closed before any byte of an answer is replaced by a fresh
 * one once, unseen by the handler. `abort()` ends the connection at once, in whatever state it is.
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
