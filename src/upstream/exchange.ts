import type { Dispatcher } from 'undici';
import type { UpstreamConnection } from './connection.ts';
import { UpstreamError } from './error.ts';
import { exchangeError, isClosedByPeer } from './exchange-error.ts';
import { UpstreamHeaders } from './headers.ts';
import type { Pool } from './pool.ts';
import { requestHeaders, requestPath } from './prepare.ts';
import type { UpstreamHandler, UpstreamRequest } from './send.ts';
import type { Slot } from './slot.ts';

/**
 * One request and its answer: undici's handler, the caller's abort handle and its pause control in one
 * object, because this is made for every request.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #pool: Pool;
  readonly #options: Dispatcher.DispatchOptions;
  readonly #handler: UpstreamHandler;
  /** When it has to be over, by the pool's clock. */
  readonly deadlineMs: number;
  #slot: Slot;
  #controller: Dispatcher.DispatchController | undefined;
  #begun = false;
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
    const { timeouts } = connection;
    const path = requestPath(connection, request.path);
    this.#pool = pool;
    this.#handler = handler;
    this.#options = {
      method: request.method,
      path: request.query === undefined ? path : `${path}?${request.query}`,
      headers: requestHeaders(connection, request.headers),
      body: request.body ?? null,
      headersTimeout: timeouts.firstByteSeconds * 1000,
      bodyTimeout: timeouts.idleSeconds * 1000,
    };
    this.deadlineMs = performance.now() + timeouts.totalSeconds * 1000;
    this.#slot = pool.acquire(this);
    this.#slot.client.dispatch(this.#options, this);
  }

  /**
   * Whether an answer has begun and every byte of the request has left this process, so that the body's memory may be
   * used for something else. False also where that is not known.
   */
  get sent(): boolean {
    if (!this.#done && this.#answered) this.#sent = this.#slot.flushed;
    // The socket that a first try left behind may not be closed yet.
    return this.#sent && !this.#retried;
  }

  /** Ends the exchange and its connection; the handler hears no more. */
  abort(): void {
    this.#aborted = true;
    if (this.#done) return;
    this.#finish();
    this.#drop();
  }

  pause(): void {
    if (!this.#done) this.#controller?.pause();
  }

  resume(): void {
    if (!this.#done) this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStarted(): void {
    this.#begun = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // 103 Early Hints and its like come before the answer.
    if (this.#done || status < 200) return;
    this.#answered = true;
    this.#handler.onResponse(status, new UpstreamHeaders(headers), this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done) this.#handler.onData(chunk);
  }

  onResponseEnd(): void {
    if (this.#done) return;
    this.#sent = this.#slot.flushed;
    this.#finish();
    this.#pool.release(this.#slot);
    this.#handler.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: Error): void {
    if (this.#done) return;
    if (!this.#begun && this.#slot.served > 0 && isClosedByPeer(cause)) {
      this.#retry();
      return;
    }
    this.fail(exchangeError(cause, this.#answered));
  }

  /** Ends the exchange with an error. */
  fail(error: UpstreamError): void {
    if (this.#done) return;
    this.#finish();
    this.#drop();
    // undici can refuse a request before the caller holds its abort handle.
    queueMicrotask(() => {
      if (!this.#aborted) this.#handler.onError(error);
    });
  }

  totalTimeout(): void {
    this.fail(new UpstreamError('total_timeout', this.#answered));
  }

  /**
   * The node closed this connection as it was being used again, most likely before it read the request. A fresh
   * one has served nobody, so that this happens once.
   */
  #retry(): void {
    this.#controller = undefined;
    this.#retried = true;
    this.#pool.discard(this.#slot);
    this.#slot = this.#pool.acquireFresh(this);
    this.#slot.client.dispatch(this.#options, this);
  }

  #finish(): void {
    this.#done = true;
    this.#slot.exchange = undefined;
  }

  #drop(): void {
    this.#controller?.abort(aborted);
    this.#pool.discard(this.#slot);
  }
}

const aborted = new Error('aborted');
