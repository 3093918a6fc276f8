import type { TokenUsage } from '../observe/request-record.ts';
import type { CallerFormat } from '../routing/caller-format.ts';
import type { Candidate } from '../store/store.ts';
import type { UpstreamConnection } from '../upstream/connection.ts';
import type { UpstreamError } from '../upstream/error.ts';
import type { UpstreamHandler } from '../upstream/handler.ts';
import type { UpstreamHeaders } from '../upstream/headers.ts';
import { maskCredentials } from '../upstream/mask-credentials.ts';
import type { Pool } from '../upstream/pool.ts';
import type { UpstreamRequest } from '../upstream/request.ts';
import { send } from '../upstream/send.ts';
import { type AttemptOutcome, outcomeOfError } from './attempt-outcome.ts';
import type { AttemptReports } from './attempt-reports.ts';
import { type Caller, type CallerListener, eventStreamHeaders } from './caller.ts';
import { ErrorBody } from './error-body.ts';
import { GatewayError } from './errors.ts';
import { eventFailure } from './event-failure.ts';
import { eventMeaning } from './event-meaning.ts';
import { connectionFailure, type Failure } from './failure.ts';
import { bodyHeaders, callerHeaders } from './headers.ts';
import type { Limits } from './limits.ts';
import { SseEvents } from './sse-events.ts';
import { streamError } from './stream-errors.ts';
import { StreamWatch } from './stream-watch.ts';
import { readTokenUsage } from './token-usage.ts';

/**
 * How an attempt went: it answers the caller and needs nothing more (the reports hear how that ends), it failed, or the
 * caller left meanwhile.
 */
export type Outcome =
  | { readonly kind: 'answering' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'gone' };

/** What an attempt is told; all of it stays the same while it runs. */
export interface AttemptOptions {
  readonly caller: Caller;
  readonly format: CallerFormat;
  /** Whether the caller asked for a stream. */
  readonly stream: boolean;
  /** Headers of the gateway's own for an answer, flat: which node, how many attempts. */
  readonly headers: readonly string[];
  readonly limits: Limits;
  readonly candidate: Candidate;
  /** Told how an answer that has begun goes on. */
  readonly reports: AttemptReports;
  /** Called once, when the outcome is known. */
  readonly settle: (outcome: Outcome) => void;
}

/**
 * One request to one node, and its answer on the way to the caller.
 *
 * `waiting` for the head → `sniffing` (is the body a stream?) → `holding` a stream back until its first content →
 * `streaming`; or `plain`: passed on as it comes; or `failing`: only an error body is collected. Until the first byte
 * has gone to the caller the attempt can fail unseen; from then on it answers, well or not.
 */
export class Attempt implements UpstreamHandler, CallerListener {
  readonly #options: AttemptOptions;
  readonly #connection: UpstreamConnection;
  readonly #exchange: { abort(): void; readonly sent: boolean };
  #stage: 'waiting' | 'sniffing' | 'holding' | 'streaming' | 'plain' | 'failing' | 'over' = 'waiting';
  #status = 0;
  #headers: UpstreamHeaders | undefined;
  #control: { pause(): void; resume(): void } | undefined;
  #held: Held | undefined;
  #watch: StreamWatch | undefined;
  #errorBody: ErrorBody | undefined;
  /** The announced length of a plain answer, and its body where that came as one piece. */
  #length = -1;
  #whole: Buffer | undefined;
  /** The last two pieces of a plain answer: its usage is there, or nowhere. */
  #last: Buffer | undefined;
  #lastButOne: Buffer | undefined;
  /** The event that began a messages stream, which tells of the input. */
  #started: Buffer | undefined;
  #response = { id: 'resp_failed', model: null as string | null, createdAt: 0 };

  constructor(pool: Pool, connection: UpstreamConnection, request: UpstreamRequest, options: AttemptOptions) {
    this.#options = options;
    this.#connection = connection;
    options.caller.listener = this;
    this.#exchange = send(pool, connection, request, this);
  }

  /** Whether the memory of the request's body is free again. */
  get sent(): boolean {
    return this.#exchange.sent;
  }

  onResponse(status: number, headers: UpstreamHeaders, control: { pause(): void; resume(): void }): void {
    const { caller, limits, stream } = this.#options;
    this.#status = status;
    this.#headers = headers;
    this.#control = control;
    const readable = stream && status < 300 && headers.get('content-encoding') === undefined;
    if (status >= 200 && status < 300 && (readable || caller.started === 'nothing')) {
      this.#stage = readable ? 'sniffing' : 'plain';
      return;
    }
    this.#stage = 'failing';
    this.#errorBody = new ErrorBody(limits.errorBodyBytes, this.#connection, () => this.#exchange.abort());
    this.#settle({ kind: 'status', status, headers, body: this.#errorBody.whole });
  }

  onData(piece: Buffer) {
    switch (this.#stage) {
      case 'streaming':
        this.#options.caller.record?.piece();
        return this.#follow(piece);
      case 'plain':
        return this.#passOn(piece);
      case 'sniffing':
        return this.#sniff(piece);
      case 'holding':
        return this.#hold(piece);
      case 'failing':
        if (this.#errorBody?.take(piece) === false) this.#exchange.abort();
        return;
      default:
        return;
    }
  }

  onEnd() {
    const { caller } = this.#options;
    switch (this.#stage) {
      case 'plain':
        if (caller.started === 'nothing') this.#beginPlain();
        this.#tellTokens(this.#plainUsage());
        this.#finish('ok');
        return caller.end(this.#whole);
      case 'streaming':
        this.#tellTokens(this.#watch?.usage(this.#started));
        if (this.#watch?.complete === false) return this.#breakStream(endedEarly(), 'bad_answer');
        this.#finish(this.#watch?.failed === true ? 'server_error' : 'ok');
        return caller.end();
      case 'sniffing':
      case 'holding':
        return this.#fail({ kind: 'none', error: endedEarly(), cause: undefined });
      case 'failing':
        this.#errorBody?.end(true);
        return;
      default:
        return;
    }
  }

  onError(error: UpstreamError) {
    const { caller } = this.#options;
    if (this.#stage === 'failing') return this.#errorBody?.end(false);
    if (this.#stage === 'over') return;
    const failure = connectionFailure(error);
    if (this.#stage === 'streaming') return this.#breakStream(failure.error, outcomeOfError(error));
    if (this.#stage === 'plain' && caller.started === 'answer') {
      this.#finish(outcomeOfError(error));
      return caller.break();
    }
    this.#fail(failure);
  }

  /** The first byte that says something tells a stream from a JSON text; what the header claims is not always so. */
  #sniff(piece: Buffer) {
    const { caller } = this.#options;
    const first = piece.find((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
    if (first !== 0x7b && first !== 0x5b) {
      this.#stage = 'holding';
      this.#held = new Held();
      return this.#hold(piece);
    }
    if (caller.started === 'nothing') {
      this.#stage = 'plain';
      return this.#passOn(piece);
    }
    this.#exchange.abort();
    const error = new GatewayError('upstream_error', 'The model server did not answer with a stream.');
    this.#fail({ kind: 'none', error, cause: undefined });
  }

  #hold(piece: Buffer) {
    const { format, limits } = this.#options;
    const held = this.#held;
    if (held === undefined) return;
    for (const event of held.take(piece)) {
      const meaning = eventMeaning(format, event.name, event.data);
      if (event.hasId) this.#options.caller.sendsIds = true;
      if (meaning === 'error') {
        this.#exchange.abort();
        const said = maskCredentials(Buffer.from(event.data, 'latin1'), this.#connection);
        return this.#fail(eventFailure(format, said.toString('utf8')));
      }
      if (meaning === 'content' || (meaning === 'end' && held.announced)) return this.#release(held);
      if (meaning === 'lifecycle') {
        held.announced = true;
        if (format === 'responses') this.#remember(event.data);
        if (format === 'messages') this.#started ??= Buffer.from(event.data, 'latin1');
      }
    }
    if (held.isFull(limits.heldBytes)) this.#release(held);
  }

  /** The first content is here: from now on everything goes to the caller as it comes. */
  #release(held: Held) {
    const { caller, format, headers } = this.#options;
    if (caller.started === 'nothing') {
      const own = [...headers, ...eventStreamHeaders];
      if (this.#headers !== undefined) callerHeaders(this.#headers, bodyHeaders(this.#headers, own));
      caller.begin(this.#status, own);
    }
    caller.started = 'answer';
    caller.record?.contentBegan();
    this.#stage = 'streaming';
    this.#held = undefined;
    this.#watch = new StreamWatch(format);
    this.#answering();
    for (const piece of held.pieces) this.#follow(piece);
  }

  #follow(piece: Buffer) {
    this.#watch?.take(piece);
    // An error of the node's may repeat the headers that it was sent.
    this.#write(this.#watch?.failed === true ? maskCredentials(piece, this.#connection) : piece);
  }

  #passOn(piece: Buffer) {
    this.#lastButOne = this.#last;
    this.#last = piece;
    if (this.#options.caller.started === 'nothing') {
      this.#beginPlain();
      // That is all of it, and its end is told in a moment: ending with it costs less than to write it and then end.
      if (piece.length === this.#length) {
        this.#whole = piece;
        return;
      }
    }
    this.#write(piece);
  }

  #beginPlain() {
    const { caller, headers } = this.#options;
    const own = headers.slice();
    const upstream = this.#headers;
    if (upstream !== undefined) {
      const length = upstream.get('content-length');
      if (length !== undefined && /^\d+$/.test(length)) {
        own.push('content-length', length);
        this.#length = Number(length);
      }
      callerHeaders(upstream, bodyHeaders(upstream, own));
    }
    caller.begin(this.#status, own);
    this.#answering();
  }

  #answering() {
    const { reports, candidate, settle } = this.#options;
    reports.began(candidate);
    settle(answering);
  }

  #plainUsage(): TokenUsage | undefined {
    const [last, before] = [this.#last, this.#lastButOne];
    if (last === undefined) return undefined;
    return (
      readTokenUsage(last) ??
      (before === undefined
        ? undefined
        : readTokenUsage(Buffer.concat([before.subarray(-longestTail), last])))
    );
  }

  #tellTokens(tokens: TokenUsage | undefined): void {
    const { record } = this.#options.caller;
    if (record !== undefined) record.tokens = tokens;
  }

  /** The answer has come to its end, good or bad. */
  #finish(outcome: AttemptOutcome) {
    const { reports, candidate, caller } = this.#options;
    this.#stage = 'over';
    if (outcome === 'ok') return reports.ended(candidate, this.#status);
    if (caller.record !== undefined) caller.record.broke = outcome;
    reports.broke(candidate, outcome, caller.requestId);
  }

  #write(piece: Buffer) {
    if (!this.#options.caller.write(piece)) this.#control?.pause();
  }

  drained(): void {
    this.#control?.resume();
  }

  /** The caller has heard nothing for a while: a comment, where one may stand, keeps its connection open. */
  silent(): void {
    const { caller } = this.#options;
    if (this.#stage === 'plain' || this.#stage === 'failing' || this.#stage === 'over') return;
    if (this.#watch !== undefined && !this.#watch.atBoundary) return;
    caller.keepAlive();
  }

  #remember(data: string) {
    const { response } = JSON.parse(data) as {
      response?: { id?: unknown; model?: unknown; created_at?: unknown };
    };
    if (typeof response?.id !== 'string') return;
    const { id, model, created_at } = response;
    this.#response = {
      id,
      model: typeof model === 'string' ? model : null,
      createdAt: typeof created_at === 'number' ? created_at : 0,
    };
  }

  #breakStream(error: GatewayError, outcome: AttemptOutcome) {
    const { caller, format } = this.#options;
    this.#finish(outcome);
    const between = this.#watch?.atBoundary === false ? '\n\n' : '';
    const soFar = { ...this.#response, sequence: this.#watch?.sequence ?? -1 };
    caller.end(between + streamError(format, error, soFar));
  }

  #fail(failure: Failure) {
    this.#stage = 'over';
    this.#held = undefined;
    this.#settle(failure);
  }

  #settle(failure: Failure) {
    this.#options.settle({ kind: 'failed', failure });
  }

  gone(): void {
    this.#exchange.abort();
    this.#errorBody?.end(false);
    const { caller, reports, candidate, settle } = this.#options;
    if (this.#stage === 'streaming' || (this.#stage === 'plain' && caller.started === 'answer')) {
      reports.left(candidate);
    }
    this.#stage = 'over';
    settle({ kind: 'gone' });
  }
}

/** Bytes of the last piece but one that may hold the usage. */
const longestTail = 4 * 1024;

/** What is held back of a stream. */
class Held {
  readonly pieces: Buffer[] = [];
  /** Whether an event has announced an answer. */
  announced = false;
  readonly #events = new SseEvents();
  #size = 0;

  take(piece: Buffer): ReturnType<SseEvents['take']> {
    this.pieces.push(piece);
    this.#size += piece.length;
    return this.#events.take(piece);
  }

  /** Reading on would cost more than it may: many pieces are as dear as many bytes. */
  isFull(bytes: number): boolean {
    return this.#size > bytes || this.pieces.length > 1000;
  }
}

const answering: Outcome = { kind: 'answering' };

function endedEarly(): GatewayError {
  return new GatewayError('upstream_error', 'The model server ended its answer early.');
}
