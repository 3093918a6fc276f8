import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { InternalErrorPlace, InternalErrors } from '../../observe/internal-errors.ts';
import type { TokenUsage } from '../../observe/request-record.ts';
import { chunkOf, socketForChunk } from '../../runtime/node-internals.ts';
import { type BatchedWriter, writeTogether } from '../../upstream/batches.ts';
import { Deadline, type Deadlines } from '../../upstream/deadlines.ts';
import type { AttemptOutcome } from '../attempt/attempt-outcome.ts';
import type { GatewayError } from '../errors/errors.ts';
import { type ErrorShape, wireError } from '../errors/wire-errors.ts';
import { type Fallible, quietly } from '../guard.ts';
import type { Limits } from '../limits.ts';
import { endLinger } from '../server/linger.ts';

/**
 * Pieces up to this size are written past node:http as one chunk. Copying larger ones costs more than it saves, and a
 * waiting copy holds the 64 KiB pool that Node.js cuts small Buffers from.
 */
const mostChunkBytes = 16 * 1024;

/** The attempt that answers the caller at the moment. */
export interface CallerListener extends Fallible {
  /** The caller left before its answer was complete. */
  gone(): void;
  /** The caller has read what was written. */
  drained(): void;
  /** Nothing was written to a stream for `keepAliveMs`. */
  silent(): void;
}

/** The record of the request while it is answered. */
export interface CallerRecord {
  /** The token usage that the node reported. */
  tokens: TokenUsage | undefined;
  /** How an answer that had begun broke off. */
  broke: AttemptOutcome | undefined;
  /** The conversion that the last attempt ran. */
  conversion: string | undefined;
  /** The first content of a stream goes to the caller now. */
  contentBegan(): void;
  /** Another piece of a stream's content goes to the caller. */
  piece(): void;
  /** Called once, after the answer is complete or the caller has left. */
  closed(): void;
}

/**
 * The caller of one request: what is written to it, and whether it is still there. `started` says what has been
 * written: nothing, the head of an event stream with keep-alives only, or the answer.
 */
export class Caller extends Deadline implements BatchedWriter {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly shape: ErrorShape;
  started: 'nothing' | 'keepAlives' | 'answer' = 'nothing';
  /** Whether the caller left before its answer was complete. */
  gone = false;
  /** Whether its stream has used `id:` lines: some clients then read the blank line after a comment as an event. */
  sendsIds = false;
  listener: CallerListener | undefined;
  /**
   * An object, not a closure: a closure that refers to the caller kept all of a request alive through minor collections,
   * which doubled the time of garbage collection.
   */
  record: CallerRecord | undefined;
  /** Bytes of the answer's body so far. */
  bytesOut = 0;
  readonly #response: ServerResponse;
  readonly #lastOnConnection: () => boolean;
  readonly #limits: Pick<Limits, 'answerIdleMs' | 'keepAliveMs' | 'lingerMs'>;
  readonly #internalErrors: InternalErrors;
  /** Whether the caller once read more slowly than was written. */
  #hasWaited = false;
  #broken = false;
  /** Whether all of the answer was written, although the response has not ended. */
  #answered = false;
  /** Whether the answer is to end, and its last bytes until they are written. */
  #isEnding = false;
  #lastBytes: Buffer | undefined;
  #corked: Socket | undefined;
  /** For streams: where this caller is watched for silence; when something was last written, by `performance.now()`. */
  #deadlines: Deadlines | undefined;
  #wroteMs = 0;
  #isClosed = false;
  #atClose: (() => void) | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: {
      requestId: string;
      shape: ErrorShape;
      lastOnConnection: () => boolean;
      limits: Pick<Limits, 'answerIdleMs' | 'keepAliveMs' | 'lingerMs'>;
      internalErrors: InternalErrors;
    },
  ) {
    super();
    this.request = request;
    this.requestId = options.requestId;
    this.shape = options.shape;
    this.#response = response;
    this.#lastOnConnection = options.lastOnConnection;
    this.#limits = options.limits;
    this.#internalErrors = options.internalErrors;
    response.on('error', ignore);
    response.on('close', () => this.#closed());
  }

  /** The HTTP status that was sent; 0 before. */
  get status(): number {
    return this.started === 'nothing' ? 0 : this.#response.statusCode;
  }

  /** Writes the head of the answer. `headers` is flat; request id and connection handling are added. */
  begin(status: number, headers: string[]): void {
    headers.push('x-request-id', this.requestId);
    if (this.shape === 'anthropic') headers.push('request-id', this.requestId);
    if (this.#lastOnConnection()) headers.push('connection', 'close');
    this.#response.writeHead(status, headers);
    this.started = 'answer';
  }

  /** Lets a caller that sent `expect: 100-continue` send its body. */
  askForBody(): void {
    if (/^100-continue$/i.test(this.request.headers.expect ?? '')) this.#response.writeContinue();
  }

  /** Notifies the listener whenever nothing was written for `keepAliveMs`. */
  watchSilence(deadlines: Deadlines): void {
    this.#deadlines = deadlines;
    this.#wroteMs = performance.now();
    deadlines.watch(this, this.#wroteMs + this.#limits.keepAliveMs);
  }

  check(nowMs: number): number {
    if (nowMs >= this.#wroteMs + this.#limits.keepAliveMs) {
      this.#wroteMs = nowMs;
      this.listener?.silent();
    }
    return this.#wroteMs + this.#limits.keepAliveMs;
  }

  /** Writes a comment into the event stream, after its head if nothing was written yet. */
  keepAlive(): void {
    if (this.started === 'nothing') {
      this.begin(200, [...eventStreamHeaders, 'content-type', 'text/event-stream; charset=utf-8']);
      this.started = 'keepAlives';
    }
    // If the caller does not read, more comments would only fill memory.
    if (this.#response.writableNeedDrain) return;
    const comment = this.sendsIds ? lineComment : eventComment;
    const socket = this.#socketForChunk();
    // Written at once, not together with others of this turn of the event loop: the silence has lasted long enough.
    if (socket === null) this.write(comment.bytes);
    else {
      this.bytesOut += comment.bytes.length;
      socket.write(comment.chunk);
    }
  }

  /** Returns false if the caller reads more slowly than is written; `drained` is called when it has caught up. */
  write(text: Buffer | string): boolean {
    if (this.gone || this.#broken) return true;
    if (this.#deadlines !== undefined) this.#wroteMs = performance.now();
    const bytes = bytesOf(text);
    const isFirst = this.#cork();
    const taken = this.#pass(bytes);
    if (isFirst) writeTogether(this);
    if (!taken) this.#wait();
    return taken;
  }

  end(text?: Buffer | string): void {
    if (this.gone || this.#broken) return;
    const bytes = text === undefined ? undefined : bytesOf(text);
    this.bytesOut += bytes?.length ?? 0;
    if (this.request.complete) {
      this.#isEnding = true;
      this.#lastBytes = bytes;
      if (this.#corked === undefined) writeTogether(this);
    } else this.#endAfterBody(bytes);
  }

  writeNow(): void {
    try {
      if (this.#isEnding) this.#endNow();
      this.#corked?.uncork();
      this.#corked = undefined;
    } catch (error) {
      this.failed(error);
      // Nothing can end the answer in order now.
      quietly(() => this.break());
    }
  }

  /** Breaks the connection: the only way to show that a plain answer that has begun is not complete. */
  break(): void {
    this.#broken = true;
    this.#response.destroy();
  }

  /** Reports a fault of the gateway's own in this request. Never throws. */
  caught(place: InternalErrorPlace, error: unknown): void {
    this.#internalErrors(place, error, this.requestId);
  }

  /** An error was thrown while this caller was served: the attempt that answers it ends the request. */
  failed(error: unknown): void {
    if (this.listener === undefined) {
      this.caught('answer', error);
      quietly(() => this.break());
    } else this.listener.failed(error);
  }

  /** Ends an answer that has begun and not ended: with `lastWords` if given, else by breaking the connection. */
  interrupt(lastWords: string | undefined): void {
    if (this.gone || this.#broken || this.#isEnding || this.#answered || this.#response.writableEnded) return;
    if (lastWords === undefined) this.break();
    else this.end(lastWords);
  }

  /** Calls `act` when the answer is complete or the caller has left, at once if that has happened. At most one. */
  whenClosed(act: () => void): void {
    if (this.#isClosed) act();
    else this.#atClose = act;
  }

  /** Answers with a JSON text. */
  answerJson(status: number, body: string, headers: string[] = []): void {
    const bytes = Buffer.from(body);
    headers.push('content-type', 'application/json; charset=utf-8', 'content-length', String(bytes.length));
    this.begin(status, headers);
    this.end(this.request.method === 'HEAD' ? undefined : bytes);
  }

  /** Answers with an error of the catalogue in the caller's shape. */
  answerError(error: GatewayError, headers: string[] = []): void {
    const { status, body, retryAfterSeconds } = wireError(error, this.shape, this.requestId);
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds));
    this.answerJson(status, body, headers);
  }

  /** Writes a piece, a small one directly to the socket if possible. Returns false if the caller reads too slowly. */
  #pass(bytes: Buffer): boolean {
    // A chunk of no bytes would end the answer.
    const isSmall = bytes.length > 0 && bytes.length <= mostChunkBytes;
    const socket = isSmall ? this.#socketForChunk() : null;
    this.bytesOut += bytes.length;
    if (socket === null) return this.#response.write(bytes);
    // Nothing waits before it, so that the socket has room.
    socket.write(chunkOf(bytes));
    return true;
  }

  /**
   * Where a chunk may be written past node:http; null if it may not. What comes while such a chunk waits goes by node:http
   * again, which then reports when the caller takes more.
   */
  #socketForChunk(): Socket | null {
    return this.gone || this.#broken ? null : socketForChunk(this.#response, this.bytesOut);
  }

  /** Corks the socket until all writes of this turn of the event loop are sent together. True if it was not corked. */
  #cork(): boolean {
    const { socket } = this.#response;
    if (this.#corked !== undefined || socket === null) return false;
    this.#corked = socket;
    socket.cork();
    return true;
  }

  /** `end` makes node:http send everything, corked or not, so it is delayed until all are sent together. */
  #endNow(): void {
    const bytes = this.#lastBytes;
    this.#lastBytes = undefined;
    this.#isEnding = false;
    if (this.gone || this.#broken) return;
    if (bytes === undefined) this.#response.end();
    else this.#response.end(bytes);
    if (this.#response.writableLength > 0) this.#wait();
  }

  /**
   * Bytes wait for the caller to read. If it reads nothing for too long its connection is closed: it would hold its request,
   * and a drain, indefinitely. The socket's own timeout is used because it also sees that a part of one write was read.
   */
  #wait(): void {
    const response = this.#response;
    const { answerIdleMs } = this.#limits;
    response.socket?.setTimeout(answerIdleMs);
    if (this.#hasWaited) return;
    this.#hasWaited = true;
    // A pipelined answer gets the socket when the earlier one is complete.
    if (response.socket === null) response.once('socket', (socket) => socket.setTimeout(answerIdleMs));
    response.on('drain', () => {
      response.socket?.setTimeout(0);
      this.#guarded(() => this.listener?.drained());
    });
    // Before node:http's own listener, which sets the timeout of an idle connection.
    response.prependOnceListener('finish', () => response.socket?.setTimeout(0));
  }

  #closed(): void {
    this.#isClosed = true;
    this.#deadlines?.forget(this);
    if (!this.#response.writableFinished && !this.#broken && !this.#answered) {
      this.gone = true;
      this.#guarded(() => this.listener?.gone());
    }
    try {
      this.record?.closed();
    } catch (error) {
      this.caught('record', error);
    }
    this.#guarded(() => this.#atClose?.());
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.failed(error);
    }
  }

  /** Ends an answer that was sent while the caller still sends its body. */
  #endAfterBody(bytes: Buffer | string | undefined): void {
    const { request } = this;
    this.#answered = true;
    if (bytes === undefined) this.#response.flushHeaders();
    else this.#response.write(bytes);
    endLinger(request.socket, this.#limits.lingerMs, request);
    request.once('end', () => this.#response.end());
    request.resume();
  }
}

/** Headers of every event stream, flat. */
export const eventStreamHeaders: readonly string[] = ['cache-control', 'no-cache', 'x-accel-buffering', 'no'];

interface Comment {
  readonly bytes: Buffer;
  /** The same bytes as a chunk, made once. */
  readonly chunk: Buffer;
}

const eventComment = comment(': keepalive\n\n');
const lineComment = comment(': keepalive\n');

function comment(text: string): Comment {
  const bytes = Buffer.from(text);
  return { bytes, chunk: chunkOf(bytes) };
}

/** A text as bytes: node:http would measure the text, append it to its head and then encode both. */
function bytesOf(text: Buffer | string): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text;
}

function ignore(): void {}
