import type { UpstreamError } from './error.ts';
import type { UpstreamHeaders } from './headers.ts';

/**
 * Receives one answer as it comes. Exactly one of `onEnd`, `onError` and `failed` is called, once; nothing after `abort()`
 * but, if a callback has called that and then throws, `failed`.
 */
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
  /** A callback threw `error`, or the code below it did; the exchange has ended. Must not throw. */
  failed(error: unknown): void;
}
