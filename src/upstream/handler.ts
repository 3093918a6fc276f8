import type { UpstreamError } from './error.ts';
import type { UpstreamHeaders } from './headers.ts';

/**
 * Receives one answer as it arrives. Exactly one of `onEnd`, `onError` and `failed` is called, once. After `abort()` nothing
 * is called, with one exception: if a callback calls `abort()` and then throws, `failed` is called.
 */
export interface UpstreamHandler {
  /** The response head has arrived. A redirect is a response like any other. */
  onResponse(status: number, headers: UpstreamHeaders, control: { pause(): void; resume(): void }): void;
  /**
   * A piece of the body. It may be kept: its memory is not reused. After `pause()`, pieces that were already read can
   * still arrive when the node closes the connection (at most one socket buffer).
   */
  onData(chunk: Buffer): void;
  onEnd(): void;
  onError(error: UpstreamError): void;
  /** A callback threw `error`, or the code below it did; the exchange has ended. Must not throw. */
  failed(error: unknown): void;
}
