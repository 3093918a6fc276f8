import type { ConvertedStream } from '../../convert/conversion.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import { type CallerListener, eventStreamHeaders } from '../answer/caller.ts';
import { unreadable } from '../answer/collected-answer.ts';
import { chatTokenUsage } from '../answer/token-usage.ts';
import { AttemptEnd, type Interruptible } from '../attempt/attempt-end.ts';
import { ErrorBody } from '../attempt/error-body.ts';
import {
  asFault,
  connectionError,
  connectionFailure,
  errorOf,
  type Failure,
  faultFailure,
  statusFailure,
} from '../attempt/failure.ts';
import { callerHeaders } from '../attempt/headers.ts';
import type { GatewayError } from '../errors/errors.ts';
import { type ConvertedOptions, sendNextChat } from './converted-request.ts';
import { maskFault } from './mask-fault.ts';

/** Most bytes after the end of an answer before its connection is closed. */
const mostAfterEnd = 64 * 1024;

/**
 * An attempt whose answer is converted event by event. The choices of a request come one after the other. The events that a
 * piece of the node's bytes completes are written to the caller at once, in one write. Until the first write another node
 * can be tried.
 */
export class ConvertedStreaming implements CallerListener, Interruptible {
  readonly #options: ConvertedOptions;
  readonly #end: AttemptEnd;
  #choice = 0;
  #stream: ConvertedStream<unknown>;
  #exchange: { abort(): void };
  #control: { pause(): void; resume(): void } | undefined;
  #headers: UpstreamHeaders | undefined;
  #errorBody: ErrorBody | undefined;
  #stage: 'reading' | 'failing' | 'over' = 'reading';
  /** Whether the caller got content: from then on this attempt answers, complete or not. */
  #answering = false;
  /** Whether the caller reads more slowly than is written. */
  #full = false;
  #afterEnd = 0;

  constructor(options: ConvertedOptions) {
    this.#options = options;
    this.#end = new AttemptEnd(options);
    options.caller.listener = this;
    this.#stream = options.converted.stream(0, options.conversion.opened);
    this.#exchange = this.#ask();
  }

  #onResponse(status: number, headers: UpstreamHeaders, control: { pause(): void; resume(): void }) {
    this.#control = control;
    this.#headers = headers;
    if (this.#full) control.pause();
    if (status >= 200 && status < 300) {
      if (headers.isEncoded) this.#fault(unreadable());
      return;
    }
    this.#stage = 'failing';
    const { limits, connection } = this.#options;
    this.#errorBody = new ErrorBody(limits.errorBodyBytes, connection, () => this.#exchange.abort());
    this.#fail(statusFailure(status, headers, this.#errorBody.whole, false));
  }

  #onData(piece: Buffer) {
    if (this.#stage === 'reading') return this.#read((stream) => stream.push(piece));
    if (this.#stage === 'failing') {
      if (this.#errorBody?.take(piece) === false) this.#exchange.abort();
      return;
    }
    this.#afterEnd += piece.length;
    if (this.#afterEnd > mostAfterEnd) this.#exchange.abort();
  }

  #onEnd() {
    this.#errorBody?.end(true);
    if (this.#stage === 'reading') this.#read((stream) => stream.end(), truncated);
  }

  #onError(error: UpstreamError) {
    this.#errorBody?.end(false);
    if (this.#stage !== 'reading') return;
    if (this.#headers === undefined) return this.#fail(connectionFailure(error));
    const cut = asFault(connectionError(error));
    this.#read(
      (stream) => stream.end(cut),
      () => cut,
      error,
    );
  }

  drained(): void {
    this.#full = false;
    this.#control?.resume();
  }

  /** Nothing was sent for a while: the keep-alive of the caller's format keeps its connection open. */
  silent(): void {
    const { caller, conversion } = this.#options;
    if (this.#stage !== 'reading' || this.#full) return;
    this.#begin([]);
    caller.started = this.#answering ? 'answer' : 'keepAlives';
    this.#write(this.#stream.keepAlive().join(''));
    conversion.opened = this.#stream.opened;
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

  lastWords({ message }: GatewayError): string {
    return this.#stream.fail(new UpstreamFault('interrupted', message, { status: 500 })).join('');
  }

  #ask(): { abort(): void } {
    const choice = this.#choice;
    // Bytes after the end of a choice do not belong to the next one.
    const isCurrent = (): boolean => this.#choice === choice;
    return sendNextChat(this.#options, {
      onResponse: (status, headers, control) => this.#onResponse(status, headers, control),
      onData: (piece) => (isCurrent() ? this.#onData(piece) : undefined),
      onEnd: () => (isCurrent() ? this.#onEnd() : undefined),
      onError: (error) => (isCurrent() ? this.#onError(error) : undefined),
      failed: (error) => this.failed(error),
    });
  }

  /** Converts, writes the events to the caller, and ends the stream if it is done or failed. `atEnd`: no more bytes will come. */
  #read(
    convert: (stream: ConvertedStream<unknown>) => string[],
    atEnd?: () => UpstreamFault,
    cause?: UpstreamError,
  ) {
    const stream = this.#stream;
    const events = this.#guarded(convert);
    if (events === undefined) return;
    const { fault, done } = stream;
    if (done && this.#isLast()) return this.#finish(events);
    if (events.length > 0) this.#give(events);
    if (fault !== undefined) this.#fault(fault, cause);
    else if (done) this.#guarded(() => this.#nextChoice());
    else if (atEnd !== undefined) this.#fault(atEnd(), cause);
  }

  /** An error of the conversion ends this answer, not the process. */
  #guarded<T>(act: (stream: ConvertedStream<unknown>) => T): T | undefined {
    try {
      return act(this.#stream);
    } catch (error) {
      this.#options.caller.caught('answer', error);
      this.#fault(new UpstreamFault('malformed', 'The answer of the model server could not be converted.'));
      return undefined;
    }
  }

  #isLast(): boolean {
    return this.#choice === this.#options.converted.choices - 1;
  }

  #nextChoice(): void {
    const { converted, onLost } = this.#options;
    onLost(this.#stream.lost);
    this.#addTokens();
    this.#control?.resume();
    this.#choice += 1;
    this.#headers = undefined;
    this.#control = undefined;
    this.#stream = converted.stream(this.#choice, this.#stream.opened);
    this.#exchange = this.#ask();
  }

  #give(events: readonly string[]) {
    if (this.#answering) this.#options.caller.record?.piece();
    else this.#answer();
    this.#write(events.join(''));
  }

  #finish(events: readonly string[]): void {
    const { caller, onLost } = this.#options;
    this.#answer();
    this.#addTokens();
    this.#stage = 'over';
    this.#end.complete(200);
    onLost(this.#stream.lost);
    caller.end(events.join(''));
    // The rest of the node's answer is read so that its connection can be used again.
    this.#control?.resume();
  }

  /** From here on every event is written to the caller. */
  #answer(): void {
    if (this.#answering) return;
    this.#answering = true;
    this.#begin([
      ...this.#options.headers,
      ...(this.#headers === undefined ? [] : callerHeaders(this.#headers)),
    ]);
    this.#end.streaming();
  }

  #begin(headers: readonly string[]): void {
    const { caller, conversion } = this.#options;
    conversion.begun = true;
    if (caller.started !== 'nothing') return;
    const named = headers.length > 0 ? headers : conversion.headers;
    caller.begin(200, [...named, ...eventStreamHeaders, 'content-type', 'text/event-stream; charset=utf-8']);
  }

  /** Adds the tokens of this choice to those of the request. */
  #addTokens(): void {
    this.#end.used(chatTokenUsage(this.#stream.usage));
  }

  #write(text: string): void {
    if (text === '' || this.#options.caller.write(text)) return;
    this.#full = true;
    this.#control?.pause();
  }

  #fault(fault: UpstreamFault, cause?: UpstreamError): void {
    this.#exchange.abort();
    const { connection } = this.#options;
    const failure =
      cause === undefined
        ? faultFailure(maskFault(fault, connection), this.#headers)
        : connectionFailure(cause);
    this.#stage = 'over';
    this.#fail(failure);
  }

  /** Without content the attempt has failed; after content the stream ends with the error events of its format. */
  #fail(failure: Failure) {
    if (!this.#answering) {
      if (this.#stage === 'reading') this.#stage = 'over';
      return this.#end.failed(failure);
    }
    this.#addTokens();
    this.#end.broke(failure.outcome, failure.cause);
    this.#break(failure).catch((error: unknown) => this.failed(error));
  }

  async #break(failure: Failure): Promise<void> {
    const fault = asFault(await errorOf(failure));
    const { caller, onLost } = this.#options;
    this.#stage = 'over';
    caller.end(this.#stream.fail(fault).join(''));
    onLost(this.#stream.lost);
  }
}

function truncated(): UpstreamFault {
  return new UpstreamFault('truncated', 'The model server ended its answer before it was complete.');
}
