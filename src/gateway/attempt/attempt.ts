import { type CallerFormat, isEndpoint } from '../../routing/caller-format.ts';
import { ByteBlocks } from '../../upstream/byte-blocks.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHandler } from '../../upstream/handler.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { maskCredentials, maskText } from '../../upstream/mask-credentials.ts';
import type { Pool } from '../../upstream/pool.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import { send } from '../../upstream/send.ts';
import { type CallerListener, eventStreamHeaders } from '../answer/caller.ts';
import { beginsAsJson, HeldStream } from '../answer/held-stream.ts';
import { eventFault, mayReportError } from '../answer/reported-error.ts';
import { StreamWatch } from '../answer/stream-watch.ts';
import { lastTokenUsage } from '../answer/token-usage.ts';
import { GatewayError } from '../errors/errors.ts';
import type { Limits } from '../limits.ts';
import { AttemptEnd, type AttemptListeners, type Interruptible } from './attempt-end.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import { ErrorBody } from './error-body.ts';
import {
  badAnswer,
  connectionError,
  connectionFailure,
  type Failure,
  faultFailure,
  statusFailure,
} from './failure.ts';
import { bodyHeaders, callerHeaders, isEventStream } from './headers.ts';

/** What an attempt needs. Nothing of it changes while it runs. */
export interface AttemptOptions extends AttemptListeners {
  readonly format: CallerFormat;
  /** Whether the caller asked for a stream; of an endpoint the node's answer says whether it is one. */
  readonly stream: boolean;
  /** Headers of the gateway's own for an answer, flat: which node, how many attempts. */
  readonly headers: readonly string[];
  readonly limits: Limits;
}

/**
 * One request to one node, and its answer on the way to the caller.
 *
 * `waiting` for the head → `sniffing` (is the body a stream?) → `holding` a stream back until its first content →
 * `streaming`; or `plain`: passed on as it comes; or `reporting`: an answer that may be an error is collected, because it
 * may repeat the credential, and continues as `plain`; or `failing`: only an error body is collected. Until the first byte
 * was written to the caller, another node can be tried; from then on this attempt answers, complete or not.
 */
export class Attempt implements UpstreamHandler, CallerListener, Interruptible {
  readonly #options: AttemptOptions;
  readonly #end: AttemptEnd;
  readonly #connection: UpstreamConnection;
  readonly #exchange: { abort(): void; readonly sent: boolean };
  #stage: 'waiting' | 'sniffing' | 'holding' | 'streaming' | 'plain' | 'reporting' | 'failing' | 'over' =
    'waiting';
  #status = 0;
  #headers: UpstreamHeaders | undefined;
  #control: { pause(): void; resume(): void } | undefined;
  #held: HeldStream | undefined;
  #watch: StreamWatch | undefined;
  #errorBody: ErrorBody | undefined;
  #reported: ByteBlocks | undefined;
  /** The announced length of a plain answer, and its body if that came in one piece. */
  #length = -1;
  #whole: Buffer | undefined;
  /** The last two pieces of a plain answer: usage is searched only there. */
  #last: Buffer | undefined;
  #lastButOne: Buffer | undefined;

  constructor(pool: Pool, connection: UpstreamConnection, request: UpstreamRequest, options: AttemptOptions) {
    this.#options = options;
    this.#end = new AttemptEnd(options);
    this.#connection = connection;
    options.caller.listener = this;
    this.#exchange = send(pool, connection, request, this);
  }

  /** Whether the request's body was sent and its memory may be freed. */
  get sent(): boolean {
    return this.#exchange.sent;
  }

  onResponse(status: number, headers: UpstreamHeaders, control: { pause(): void; resume(): void }): void {
    const { caller, format, limits, stream } = this.#options;
    this.#status = status;
    this.#headers = headers;
    this.#control = control;
    if (status >= 200 && status < 300) {
      const streams = isEndpoint(format) ? isEventStream(headers) : stream;
      if (streams && !headers.isEncoded) this.#stage = 'sniffing';
      else if (caller.started === 'nothing') this.#stage = 'plain';
      else this.#failUnstreamed();
      return;
    }
    this.#stage = 'failing';
    this.#errorBody = new ErrorBody(limits.errorBodyBytes, this.#connection, () => this.#exchange.abort());
    this.#end.failed(statusFailure(status, headers, this.#errorBody.whole, true));
  }

  onData(piece: Buffer) {
    switch (this.#stage) {
      case 'streaming':
        return this.#follow(piece);
      case 'plain':
        return this.#passOn(piece);
      case 'reporting':
        return this.#collect(piece);
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
    if (this.#stage === 'reporting') this.#passReported();
    switch (this.#stage) {
      case 'plain':
        if (caller.started === 'nothing') this.#beginPlain();
        if (this.#mayTellUsage) this.#end.used(lastTokenUsage(this.#last, this.#lastButOne));
        // The answer first: reporting must not delay it.
        caller.end(this.#whole);
        return this.#complete();
      case 'streaming':
        this.#end.used(this.#watch?.usage());
        if (this.#watch?.complete === false)
          return this.#breakStream(new GatewayError('upstream_error', endedEarly), 'bad_answer');
        this.#pass(this.#watch?.rest());
        caller.end();
        return this.#watch?.failed === true ? this.#broke('server_error') : this.#complete();
      case 'sniffing':
      case 'holding':
        return this.#fail(badAnswer(endedEarly));
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
    if (this.#stage === 'streaming') {
      return this.#breakStream(connectionError(error), failure.outcome, error);
    }
    if (this.#stage === 'plain' && caller.started === 'answer') {
      caller.break();
      return this.#broke(failure.outcome, error);
    }
    this.#fail(failure);
  }

  /** Decides by the first byte whether the body is a stream: the content-type header is not always true. */
  #sniff(piece: Buffer) {
    const { caller, format, limits } = this.#options;
    if (!beginsAsJson(piece)) {
      this.#stage = 'holding';
      this.#held = new HeldStream(format, limits.heldBytes);
      return this.#hold(piece);
    }
    if (caller.started === 'nothing') {
      this.#stage = 'plain';
      return this.#passOn(piece);
    }
    this.#failUnstreamed();
  }

  /** Keep-alives have begun the caller's stream, and this answer is no stream. */
  #failUnstreamed() {
    this.#exchange.abort();
    this.#fail(badAnswer('The model server did not answer with a stream.'));
  }

  #hold(piece: Buffer) {
    const { caller } = this.#options;
    const held = this.#held;
    if (held === undefined) return;
    const verdict = held.take(piece);
    if (held.hasIds) caller.sendsIds = true;
    if (verdict === 'release') return this.#release(held);
    if (verdict === 'hold') return;
    this.#exchange.abort();
    const said = maskText(held.error ?? '', this.#connection);
    this.#fail(faultFailure(eventFault(said), this.#headers));
  }

  /** The first content arrived: from now on everything is passed on at once. */
  #release(held: HeldStream) {
    const { caller, format, headers } = this.#options;
    const watch = new StreamWatch(format, held.start, (bytes) => maskCredentials(bytes, this.#connection));
    this.#watch = watch;
    this.#held = undefined;
    if (caller.started === 'nothing') {
      const own = [...headers, ...eventStreamHeaders];
      if (this.#headers !== undefined) callerHeaders(this.#headers, bodyHeaders(this.#headers, own));
      caller.begin(this.#status, own);
    }
    this.#stage = 'streaming';
    this.#end.streaming();
    for (const piece of held.pieces) this.#pass(watch.take(piece));
  }

  #follow(piece: Buffer) {
    const events = this.#watch?.take(piece);
    if (events !== undefined && events.length > 0) this.#options.caller.record?.piece();
    this.#pass(events);
  }

  #pass(events: Buffer | undefined) {
    if (events !== undefined && events.length > 0) this.#write(events);
  }

  #passOn(piece: Buffer) {
    const { caller, limits } = this.#options;
    if (caller.started === 'nothing' && mayReportError(piece, limits.errorBodyBytes)) {
      this.#stage = 'reporting';
      this.#reported = new ByteBlocks();
      return this.#collect(piece);
    }
    this.#pour(piece, 0);
  }

  #collect(piece: Buffer) {
    const reported = this.#reported;
    reported?.add(piece);
    if (reported !== undefined && reported.size > this.#options.limits.errorBodyBytes) this.#passReported();
  }

  #passReported() {
    this.#stage = 'plain';
    const said = this.#reported?.take() ?? Buffer.alloc(0);
    this.#reported = undefined;
    const masked = maskCredentials(said, this.#connection);
    this.#pour(masked, masked.length - said.length);
  }

  /** `longer`: the bytes that masking added to the answer. */
  #pour(piece: Buffer, longer: number) {
    this.#lastButOne = this.#last;
    this.#last = piece;
    if (this.#options.caller.started === 'nothing') {
      this.#beginPlain(longer);
      // The piece is the whole body, and one `end` with it costs less than a write and an end.
      if (piece.length === this.#length) {
        this.#whole = piece;
        return;
      }
    }
    this.#write(piece);
  }

  #beginPlain(longer = 0) {
    const { caller, headers } = this.#options;
    const own = headers.slice();
    const upstream = this.#headers;
    if (upstream !== undefined) {
      const length = upstream.get('content-length');
      // RFC 9110 §8.6: an answer of status 204 has no content-length.
      if (length !== undefined && this.#status !== 204 && /^\d+$/.test(length)) {
        this.#length = Number(length) + longer;
        own.push('content-length', String(this.#length));
      }
      callerHeaders(upstream, bodyHeaders(upstream, own));
    }
    caller.begin(this.#status, own);
    this.#end.answering();
  }

  /** Whether the answer may report usage. Plain text, such as a transcript, does not: its quotes are not escaped, so it may contain `"usage"`. */
  get #mayTellUsage(): boolean {
    return !isEndpoint(this.#options.format) || /\bjson\b/i.test(this.#headers?.get('content-type') ?? '');
  }

  #complete() {
    this.#stage = 'over';
    this.#end.complete(this.#status);
  }

  #broke(outcome: AttemptOutcome, cause?: UpstreamError) {
    this.#stage = 'over';
    this.#end.broke(outcome, cause);
  }

  #write(piece: Buffer) {
    if (!this.#options.caller.write(piece)) this.#control?.pause();
  }

  drained(): void {
    this.#control?.resume();
  }

  /** Nothing was sent for a while: a comment at an event boundary keeps the caller's connection open. */
  silent(): void {
    const { caller, format } = this.#options;
    if (this.#stage === 'plain' || this.#stage === 'reporting') return;
    if (this.#stage === 'failing' || this.#stage === 'over') return;
    // Only the node's head says whether an endpoint answers with events; a comment before it would spoil any other answer.
    if (this.#stage === 'waiting' && caller.started === 'nothing' && isEndpoint(format)) return;
    if (this.#watch !== undefined && !this.#watch.atBoundary) return;
    caller.keepAlive();
  }

  #breakStream(error: GatewayError, outcome: AttemptOutcome, cause?: UpstreamError) {
    this.#options.caller.end(this.#watch?.broken(error));
    this.#broke(outcome, cause);
  }

  #fail(failure: Failure) {
    this.#stage = 'over';
    this.#held = undefined;
    this.#end.failed(failure);
  }

  gone(): void {
    this.abort();
    this.#end.gone();
  }

  failed(error: unknown): void {
    this.#end.fault(error, this);
  }

  abort(): void {
    this.#stage = 'over';
    this.#exchange.abort();
    this.#errorBody?.end(false);
  }

  lastWords(error: GatewayError): string | undefined {
    return this.#watch?.broken(error);
  }
}

const endedEarly = 'The model server ended its answer early.';
