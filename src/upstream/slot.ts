import type { Socket } from 'node:net';
import { freeBuffer } from '../runtime/node-internals.ts';
import { type BatchedWriter, writeTogether } from './batches.ts';
import type { Connect } from './connect.ts';
import { errorCode } from './connect-error.ts';
import { Deadline, type Deadlines } from './deadlines.ts';
import { UpstreamError } from './error.ts';
import { type AssembledBody, PartedBody } from './request.ts';
import { type ResponseListener, ResponseReader } from './response-reader.ts';

/** Bodies up to this size are copied behind the head: writing one buffer costs less than writing two. */
const copiedBytes = 16 * 1024;
/** How much of a larger one is given to the socket at once. */
const writtenAtOnce = 256 * 1024;
/** How long an idle connection is kept, unless the node's `Keep-Alive` header says otherwise. */
const keepAliveMs = 30_000;
/** Subtracted from the time in the node's header, so that the node does not close the connection while a request is on its way. */
const keepAliveMarginMs = 1_000;

/** The user of a connection: a request in flight. */
export interface SlotUser extends ResponseListener {
  /** The connection could not be opened, has ended, or violated HTTP. */
  onLost(error: UpstreamError): void;
  /** The gateway's own code threw while it handled the connection. */
  onFault(error: unknown): void;
  /** Ends the request if it has timed out; returns when to check again at the latest. Both are times of `performance.now()`. */
  checkTime(nowMs: number): number;
}

/** A place for one connection to a node, used by one request at a time. */
export class Slot extends Deadline implements BatchedWriter {
  /** How many requests were answered completely on this socket. */
  served = 0;
  /** The request in flight. */
  user: SlotUser | undefined;
  /**
   * When the request in flight was written, by `performance.now()`; 0: not yet. While the system is still accepting a large
   * request: when writing began.
   */
  writtenMs = 0;
  readonly #onIdleEnd: (slot: Slot) => void;
  readonly #deadlines: Deadlines;
  /** When the connection is too old for another request, by `performance.now()`. */
  readonly #endMs: number;
  /** The socket's error. */
  #cause: string | undefined;
  readonly #reader = new ResponseReader();
  readonly #socket: Socket | undefined;
  #connected = false;
  /** Whether the request in flight waits to be written together with others. */
  #batched = false;
  #waiting: { readonly head: string; readonly body: Uint8Array | AssembledBody | undefined } | undefined;
  /** The buffer of a large body that was composed here, until it is written and the node answers. */
  #assembled: Buffer | undefined;
  /** The part of a large body that was not passed to the socket yet. */
  #unwritten: readonly Uint8Array[] = [];

  /**
   * `lifeMs`: lifetime of the connection. `onIdleEnd` is called when an established socket has closed, and when an idle
   * one is to be closed.
   */
  constructor(connect: Connect, lifeMs: number, deadlines: Deadlines, onIdleEnd: (slot: Slot) => void) {
    super();
    this.#onIdleEnd = onIdleEnd;
    this.#deadlines = deadlines;
    this.#endMs = performance.now() + lifeMs;
    this.#socket = connect((error, socket) => {
      this.#guarded(() => {
        if (socket === undefined) this.user?.onLost(error ?? new UpstreamError('reset', false));
        else this.#begin(socket);
      });
    });
  }

  /** False if the connection is too old, or its socket has begun to close: the next request would only wait for its end. */
  usable(nowMs: number): boolean {
    return this.#socket?.destroyed === false && nowMs < this.#endMs;
  }

  /** Whether the connection may carry another request: the last answer permits it and is complete, and its request was written completely. */
  get reusable(): boolean {
    return this.#reader.reusable && this.flushed;
  }

  /** Whether a byte of the answer has arrived. */
  get begun(): boolean {
    return this.#reader.begun;
  }

  /** Whether the system has accepted all that was written to the socket, so that its memory is no longer read. */
  get flushed(): boolean {
    return (
      this.#unwritten.length === 0 && this.#socket?.destroyed === false && this.#socket.writableLength === 0
    );
  }

  /** Sends a request as soon as the connection is established. `head` is latin1 text, its last empty line included. */
  send(user: SlotUser, head: string, body: Uint8Array | AssembledBody | undefined): void {
    this.user = user;
    this.writtenMs = 0;
    this.#reader.expect(user);
    if (this.#connected) this.#write(head, body);
    else this.#waiting = { head, body };
  }

  /** The request was written completely, and answered completely at `nowMs`. */
  rest(nowMs: number): void {
    this.user = undefined;
    this.served += 1;
    const { keepAliveSeconds } = this.#reader;
    const idleMs = keepAliveSeconds === undefined ? keepAliveMs : keepAliveSeconds * 1000 - keepAliveMarginMs;
    this.#deadlines.watch(this, Math.min(nowMs + idleMs, this.#endMs));
    // The handler may have left the socket paused; a paused socket would not notice that the node closes.
    this.resume();
  }

  /** Ends the request in flight if it has timed out, or the connection if it was idle for too long. */
  check(nowMs: number): number {
    if (this.user !== undefined) return this.user.checkTime(nowMs);
    this.#onIdleEnd(this);
    return Number.POSITIVE_INFINITY;
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    if (this.#socket?.isPaused() === true) this.#socket.resume();
  }

  /** Closes the socket immediately, in any state; `done` is called when it has closed. */
  destroy(done: () => void): void {
    this.user = undefined;
    this.#deadlines.forget(this);
    this.#reader.ignore();
    const socket = this.#socket;
    if (socket === undefined || socket.closed) {
      queueMicrotask(done);
      return;
    }
    socket.once('close', done);
    socket.destroy();
  }

  #begin(socket: Socket): void {
    this.#connected = true;
    socket.on('error', (cause) => {
      this.#cause = errorCode(cause);
    });
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('end', () =>
      this.#guarded(() => {
        // Idle: close it immediately, or a request might be written to it before this side has closed.
        if (this.user === undefined) socket.destroy();
        else if (!this.#reader.end()) this.#lost(new UpstreamError('reset', false));
      }),
    );
    socket.on('close', () =>
      this.#guarded(() => {
        this.#lost(new UpstreamError('reset', false, this.#cause));
        this.#onIdleEnd(this);
      }),
    );
    if (this.#waiting === undefined) return;
    const { head, body } = this.#waiting;
    this.#waiting = undefined;
    this.#write(head, body);
  }

  #write(head: string, body: Uint8Array | AssembledBody | undefined): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.writtenMs = performance.now();
    socket.cork();
    if (body === undefined) socket.write(head, 'latin1');
    else if (body.length <= copiedBytes) {
      const bytes = Buffer.allocUnsafe(head.length + body.length);
      bytes.write(head, 'latin1');
      if (body instanceof Uint8Array) bytes.set(body, head.length);
      else body.writeTo(bytes, head.length);
      socket.write(bytes);
    } else {
      socket.write(head, 'latin1');
      this.#unwritten = body instanceof Uint8Array ? [body] : this.#partsOf(body);
      this.#writeNext(socket, this.user);
    }
    this.#batched = true;
    writeTogether(this);
  }

  /**
   * Writes the next piece of a large body when the system has taken the one before: all of it at once would keep the
   * event loop, and with TLS all of it would be encrypted in a turn of the event loop.
   */
  #writeNext(socket: Socket, user: SlotUser | undefined): void {
    const [part, ...others] = this.#unwritten;
    if (part === undefined) {
      if (this.user === user) this.writtenMs = performance.now();
      return;
    }
    this.#unwritten = part.length > writtenAtOnce ? [part.subarray(writtenAtOnce), ...others] : others;
    socket.write(part.subarray(0, writtenAtOnce), (error) => {
      if (error === undefined || error === null) this.#writeNext(socket, user);
    });
  }

  #partsOf(body: AssembledBody): readonly Uint8Array[] {
    if (body instanceof PartedBody) return body.parts;
    // Not from Node.js's pool, because only memory of its own can be freed explicitly.
    this.#assembled = Buffer.allocUnsafeSlow(body.length);
    body.writeTo(this.#assembled, 0);
    return [this.#assembled];
  }

  writeNow(): void {
    this.#batched = false;
    this.#socket?.uncork();
  }

  #take(piece: Buffer): void {
    // Now rather than at the end of the answer, which may be a stream of an hour: the memory bound no longer counts this buffer.
    if (this.#assembled !== undefined && this.flushed) {
      freeBuffer(this.#assembled);
      this.#assembled = undefined;
    }
    // No request is in flight: this would be taken for the answer to the next request.
    if (this.user === undefined || this.#batched) {
      this.#socket?.destroy();
      return;
    }
    const { user } = this;
    try {
      this.#reader.take(piece);
    } catch (error) {
      if (error instanceof UpstreamError) this.#lost(error);
      else user.onFault(error);
    }
  }

  /** Of `writeNow`. */
  failed(error: unknown): void {
    this.user?.onFault(error);
  }

  #guarded(act: () => void): void {
    const { user } = this;
    try {
      act();
    } catch (error) {
      user?.onFault(error);
    }
  }

  #lost(error: UpstreamError): void {
    this.user?.onLost(error);
  }
}
