import type { Socket } from 'node:net';
import { freeBuffer } from '../runtime/node-internals.ts';
import { type BatchedWriter, writeTogether } from './batches.ts';
import type { Connect } from './connect.ts';
import { errorCode } from './connect-error.ts';
import { UpstreamError } from './error.ts';
import type { AssembledBody } from './request.ts';
import { type ResponseListener, ResponseReader } from './response-reader.ts';

/** Bodies up to this are copied behind the head: one write of one buffer costs less than one of two. */
const copiedBytes = 16 * 1024;
/** How long an unused connection is kept, unless the node's `Keep-Alive` header says otherwise. */
const keepAliveMs = 30_000;
/** A node's own time is cut by this: it must not close the connection while a request is on its way. */
const keepAliveMarginMs = 1_000;

/** Who uses a connection. */
export interface SlotUser extends ResponseListener {
  /** The connection cannot be had, has ended, or does not speak HTTP. */
  onLost(error: UpstreamError): void;
  /** Code of the gateway's own threw while it handled the connection. */
  onFault(error: unknown): void;
  /** Ends what has taken too long; answers when to ask again, at the latest. Both are times of `performance.now()`. */
  checkTime(nowMs: number): number;
}

/** A place for one connection to a node, used by one request at a time. */
export class Slot implements BatchedWriter {
  /** Requests that the socket has answered in full. */
  served = 0;
  /** Whose request is under way. */
  user: SlotUser | undefined;
  /**
   * When the request under way was written, by `performance.now()`; 0: not yet. While a large one is being taken by the
   * system: when that began.
   */
  writtenMs = 0;
  /** When an unused connection is closed, by `performance.now()`; 0 where that is not yet known. */
  idleUntilMs = 0;
  readonly #onDisconnect: (slot: Slot) => void;
  /** When the connection is too old for another request, by `performance.now()`. */
  readonly #endMs: number;
  /** What the socket failed by. */
  #cause: string | undefined;
  readonly #reader = new ResponseReader();
  readonly #socket: Socket | undefined;
  #connected = false;
  /** Whether the request under way waits to be written together with others. */
  #batched = false;
  #waiting: { readonly head: string; readonly body: Uint8Array | AssembledBody | undefined } | undefined;
  /** A large body that was put together here, until the system has it and the node answers. */
  #assembled: Buffer | undefined;

  /** Is used for `lifeMs` at most. `onDisconnect` is called when a socket that stood has closed. */
  constructor(connect: Connect, lifeMs: number, onDisconnect: (slot: Slot) => void) {
    this.#onDisconnect = onDisconnect;
    this.#endMs = performance.now() + lifeMs;
    this.#socket = connect((error, socket) => {
      this.#guarded(() => {
        if (socket === undefined) this.user?.onLost(error ?? new UpstreamError('reset', false));
        else this.#begin(socket);
      });
    });
  }

  /** False once the socket has begun to close, because the next request would only wait for its end, or is too old. */
  usable(nowMs: number): boolean {
    return this.#socket?.destroyed === false && nowMs < this.#endMs;
  }

  /** Whether the connection may carry another request: the last answer says so and is complete, and all of its request was taken. */
  get reusable(): boolean {
    return this.#reader.reusable && this.flushed;
  }

  /** Whether a byte of the answer has come. */
  get begun(): boolean {
    return this.#reader.begun;
  }

  /** Whether the system has all that was written to the socket, so that nobody here reads its memory any more. */
  get flushed(): boolean {
    return this.#socket?.destroyed === false && this.#socket.writableLength === 0;
  }

  /** Sends a request, at once or as soon as the connection stands. `head` is latin1 text, its last empty line included. */
  send(user: SlotUser, head: string, body: Uint8Array | AssembledBody | undefined): void {
    this.user = user;
    this.writtenMs = 0;
    this.#reader.expect(user);
    if (this.#connected) this.#write(head, body);
    else this.#waiting = { head, body };
  }

  /** The request was answered in full, and all of it was taken. */
  rest(): void {
    this.user = undefined;
    this.served += 1;
    this.idleUntilMs = 0;
    // A reader that had enough of the answer may have left it paused; a close must be noticed.
    this.resume();
  }

  /** How long this connection may now be unused, in milliseconds. */
  get restMs(): number {
    const { keepAliveSeconds } = this.#reader;
    return keepAliveSeconds === undefined ? keepAliveMs : keepAliveSeconds * 1000 - keepAliveMarginMs;
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    if (this.#socket?.isPaused() === true) this.#socket.resume();
  }

  /** Ends the socket at once, in whatever state it is; `done` is called when it has closed. */
  destroy(done: () => void): void {
    this.user = undefined;
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
        // Unused: at once, or a request might be written into it before it has closed on this side too.
        if (this.user === undefined) socket.destroy();
        else if (!this.#reader.end()) this.#lost(new UpstreamError('reset', false));
      }),
    );
    socket.on('close', () =>
      this.#guarded(() => {
        this.#lost(new UpstreamError('reset', false, this.#cause));
        this.#onDisconnect(this);
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
      const { user } = this;
      socket.write(body instanceof Uint8Array ? body : this.#assemble(body), () => {
        if (this.user === user) this.writtenMs = performance.now();
      });
    }
    this.#batched = true;
    writeTogether(this);
  }

  #assemble(body: AssembledBody): Buffer {
    // Not from Node.js's pool: only so can it be given back.
    this.#assembled = Buffer.allocUnsafeSlow(body.length);
    body.writeTo(this.#assembled, 0);
    return this.#assembled;
  }

  writeNow(): void {
    this.#batched = false;
    this.#socket?.uncork();
  }

  #take(piece: Buffer): void {
    // Now, not at the answer's end: it may be a stream of an hour, and the bound on memory no longer counts this.
    if (this.#assembled !== undefined && this.flushed) {
      freeBuffer(this.#assembled);
      this.#assembled = undefined;
    }
    // Nobody has asked yet: it would be taken for the answer of the next request.
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
