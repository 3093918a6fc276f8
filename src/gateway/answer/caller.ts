import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InternalErrorPlace, InternalErrors } from '../../observe/internal-errors.ts';
import type { TokenUsage } from '../../observe/request-record.ts';
import { Deadline, type Deadlines } from '../../upstream/deadlines.ts';
import type { AttemptOutcome } from '../attempt/attempt-outcome.ts';
import type { GatewayError } from '../errors/errors.ts';
import { type ErrorShape, wireError } from '../errors/wire-errors.ts';
import { type Fallible, quietly } from '../guard.ts';
import type { Limits } from '../limits.ts';
import { endLinger } from '../server/linger.ts';
import { type ChunkOwner, ChunkWriter, comment } from './chunk-writer.ts';

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
export class Caller extends Deadline implements ChunkOwner {
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
  readonly #response: ServerResponse;
  readonly #writer: ChunkWriter;
  readonly #lastOnConnection: () => boolean;
  readonly #limits: Pick<Limits, 'answerIdleMs' | 'keepAliveMs' | 'lingerMs'>;
  readonly #internalErrors: InternalErrors;
  /** Whether all of the answer was written, although the response has not ended. */
  #answered = false;
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
    this.#writer = new ChunkWriter(response, options.limits.answerIdleMs, this);
    this.#lastOnConnection = options.lastOnConnection;
    this.#limits = options.limits;
    this.#internalErrors = options.internalErrors;
    response.on('error', ignore);
    response.on('close', () => this.#closed());
  }

  /** Bytes of the answer's body so far. */
  get bytesOut(): number {
    return this.#writer.bytesOut;
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
    this.#writer.writeComment(this.sendsIds ? lineComment : eventComment);
  }

  /** Returns false if the caller reads more slowly than is written; `drained` is called when it has caught up. */
  write(text: Buffer | string): boolean {
    if (this.#writer.isStopped) return true;
    if (this.#deadlines !== undefined) this.#wroteMs = performance.now();
    return this.#writer.write(bytesOf(text));
  }

  drained(): void {
    this.listener?.drained();
  }

  end(text?: Buffer | string): void {
    if (this.#writer.isStopped) return;
    const bytes = text === undefined ? undefined : bytesOf(text);
    if (this.request.complete) this.#writer.end(bytes);
    else this.#endAfterBody(bytes);
  }

  /** Breaks the connection: the only way to show that a plain answer that has begun is not complete. */
  break(): void {
    this.#writer.break();
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
    const { isStopped, isEnding } = this.#writer;
    if (isStopped || isEnding || this.#answered || this.#response.writableEnded) return;
    if (lastWords === undefined) this.break();
    else this.end(lastWords);
  }

  /** Calls `act` when the answer is complete or the caller has left, at once if that has happened. At most one. */
  whenClosed(act: () => void): void {
    if (this.#isClosed) act();
    else this.#atClose = act;
  }

  /** Writes the head of an answer that is a JSON text of so many bytes. */
  beginJson(status: number, length: number, headers: string[]): void {
    headers.push('content-type', 'application/json; charset=utf-8', 'content-length', String(length));
    this.begin(status, headers);
  }

  /** Answers with a JSON text. */
  answerJson(status: number, body: string, headers: string[] = []): void {
    const bytes = Buffer.from(body);
    this.beginJson(status, bytes.length, headers);
    this.end(this.request.method === 'HEAD' ? undefined : bytes);
  }

  /** Answers with an error of the catalogue in the caller's shape. */
  answerError(error: GatewayError, headers: string[] = []): void {
    const { status, body, retryAfterSeconds } = wireError(error, this.shape, this.requestId);
    if (retryAfterSeconds !== undefined) headers.push('retry-after', String(retryAfterSeconds));
    this.answerJson(status, body, headers);
  }

  #closed(): void {
    this.#isClosed = true;
    this.#deadlines?.forget(this);
    if (!this.#response.writableFinished && !this.#writer.isStopped && !this.#answered) {
      this.gone = true;
      this.#writer.isStopped = true;
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
  #endAfterBody(bytes: Buffer | undefined): void {
    const { request } = this;
    this.#answered = true;
    if (bytes === undefined) this.#response.flushHeaders();
    else {
      this.#writer.bytesOut += bytes.length;
      this.#response.write(bytes);
    }
    endLinger(request.socket, this.#limits.lingerMs, request);
    request.once('end', () => this.#response.end());
    request.resume();
  }
}

/** Headers of every event stream, flat. */
export const eventStreamHeaders: readonly string[] = ['cache-control', 'no-cache', 'x-accel-buffering', 'no'];

const eventComment = comment(': keepalive\n\n');
const lineComment = comment(': keepalive\n');

/** A text as bytes: node:http would measure the text, append it to its head and then encode both. */
function bytesOf(text: Buffer | string): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text;
}

function ignore(): void {}
