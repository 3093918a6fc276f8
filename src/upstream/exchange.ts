import type { UpstreamConnection } from './connection.ts';
import { UpstreamError, type UpstreamErrorCode } from './error.ts';
import type { UpstreamHandler } from './handler.ts';
import type { UpstreamHeaders } from './headers.ts';
import { maskHeaders } from './mask-credentials.ts';
import type { Pool } from './pool.ts';
import { requestHead } from './prepare.ts';
import type { AssembledBody, UpstreamRequest } from './request.ts';
import type { Slot, SlotUser } from './slot.ts';

/** If a node closes a reused connection within this time after the request, it most likely had not read the request. */
const staleMs = 1_000;

/**
 * One request and its answer. It is the user of a connection, the caller's abort handle and its pause control in one object,
 * because one is made for every request.
 */
export class Exchange implements SlotUser {
  readonly #pool: Pool;
  readonly #connection: UpstreamConnection;
  readonly #timeouts: UpstreamConnection['timeouts'];
  readonly #handler: UpstreamHandler;
  readonly #head: string | undefined;
  /** Undefined once an answer has begun: from then on the request is not sent again. */
  #body: Uint8Array | AssembledBody | undefined;
  #slot: Slot;
  /** When the exchange began, and when data last arrived, by `performance.now()`. */
  readonly #startedMs = performance.now();
  #cameMs = 0;
  #paused = false;
  #answered = false;
  #done = false;
  #sent = false;
  #retried = false;
  #aborted = false;

  constructor(
    pool: Pool,
    connection: UpstreamConnection,
    request: UpstreamRequest,
    handler: UpstreamHandler,
  ) {
    this.#pool = pool;
    this.#connection = connection;
    this.#timeouts = connection.timeouts;
    this.#handler = handler;
    this.#head = requestHead(connection, request);
    this.#body = request.body;
    const { totalSeconds, firstByteSeconds, idleSeconds } = this.#timeouts;
    const shortestMs = Math.min(totalSeconds, firstByteSeconds, idleSeconds) * 1000;
    this.#slot = pool.acquire(this.#startedMs, this.#startedMs + shortestMs);
    this.#send();
  }

  /**
   * Whether an answer has begun and every byte of the request has left this process, so that the body's memory may be
   * reused. Also false if that is not known.
   */
  get sent(): boolean {
    if (!this.#done && this.#answered) this.#sent = this.#slot.flushed;
    // The socket of the first try may still be open.
    return this.#sent && !this.#retried;
  }

  /** Ends the exchange and its connection; the handler is not called again. */
  abort(): void {
    this.#aborted = true;
    if (this.#done) return;
    this.#done = true;
    this.#pool.discard(this.#slot);
  }

  pause(): void {
    if (this.#done) return;
    this.#paused = true;
    this.#slot.pause();
  }

  resume(): void {
    if (this.#done) return;
    this.#paused = false;
    // The node is not responsible for the time in which reading was paused.
    this.#cameMs = performance.now();
    this.#slot.resume();
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.#done) return;
    // The node sent this status while it closed an idle connection, before it read the request: RFC 9110 §15.5.9 permits a repetition.
    if (status === 408 && this.#isStale()) {
      this.#retry();
      return;
    }
    this.#answered = true;
    this.#body = undefined;
    this.#cameMs = performance.now();
    try {
      this.#handler.onResponse(status, maskHeaders(headers, this.#connection), this);
    } catch (error) {
      this.onFault(error);
    }
  }

  onBody(piece: Buffer): void {
    if (this.#done) return;
    this.#cameMs = performance.now();
    try {
      this.#handler.onData(piece);
    } catch (error) {
      this.onFault(error);
    }
  }

  onComplete(): void {
    if (this.#done) return;
    this.#sent = this.#slot.flushed;
    this.#done = true;
    this.#pool.release(this.#slot, this.#cameMs);
    try {
      this.#handler.onEnd();
    } catch (error) {
      this.onFault(error);
    }
  }

  /** An error ends only this exchange: thrown out of a socket's listener it would end the process. */
  onFault(error: unknown): void {
    if (!this.#done) {
      this.#done = true;
      this.#pool.discard(this.#slot);
    }
    this.#handler.failed(error);
  }

  onLost(error: UpstreamError): void {
    if (this.#done) return;
    if (error.code === 'reset' && !this.#slot.begun && this.#isStale()) this.#retry();
    else if (error.code === 'reset') this.#fail(new UpstreamError('reset', this.#answered, error.detail));
    else this.#fail(error);
  }

  checkTime(nowMs: number): number {
    const { totalSeconds, firstByteSeconds, idleSeconds } = this.#timeouts;
    const endMs = this.#startedMs + totalSeconds * 1000;
    const idleMs = idleSeconds * 1000;
    let stillMs = nowMs + idleMs;
    if (!this.#answered) {
      // Connecting has a timeout of its own.
      stillMs = (this.#slot.writtenMs || nowMs) + firstByteSeconds * 1000;
    } else if (!this.#paused) stillMs = this.#cameMs + idleMs;
    if (nowMs >= endMs) this.#late('total_timeout');
    else if (nowMs >= stillMs) this.#late(this.#answered ? 'idle_timeout' : 'first_byte_timeout');
    // The answer may begin now: the idle timeout counts from here.
    return Math.min(endMs, stillMs, nowMs + idleMs);
  }

  #late(code: UpstreamErrorCode): void {
    this.#fail(new UpstreamError(code, this.#answered));
  }

  /**
   * Whether the node closed a reused connection just as the request was sent, most likely before it read the request. A node
   * that closes later has read the request and may have crashed on it: a repetition could crash it again, or be billed twice.
   */
  #isStale(): boolean {
    const { served, writtenMs } = this.#slot;
    return served > 0 && (writtenMs === 0 || performance.now() - writtenMs <= staleMs);
  }

  /** A fresh connection has served no request, so this happens at most once. */
  #retry(): void {
    this.#retried = true;
    this.#pool.counts.replays += 1;
    this.#pool.discard(this.#slot);
    this.#slot = this.#pool.acquireFresh(performance.now());
    this.#send();
  }

  #send(): void {
    if (this.#head !== undefined) this.#slot.send(this, this.#head, this.#body);
    else this.#fail(new UpstreamError('protocol', false, 'a request header or the path cannot be sent'));
  }

  #fail(error: UpstreamError): void {
    this.#done = true;
    this.#pool.discard(this.#slot);
    // The request may fail before the caller has its abort handle.
    queueMicrotask(() => {
      if (this.#aborted) return;
      try {
        this.#handler.onError(error);
      } catch (fault) {
        this.onFault(fault);
      }
    });
  }
}
