import { UpstreamFault } from '../convert/upstream-fault.ts';
import type { UpstreamError } from '../upstream/error.ts';
import type { UpstreamHeaders } from '../upstream/headers.ts';
import type { UpstreamHandler } from '../upstream/send.ts';
import { answerFault, connectionFault, statusFault } from './converted-failure.ts';
import { ErrorBody } from './error-body.ts';
import type { Failure } from './failure.ts';
import type { Limits } from './limits.ts';

/** Who waits for the whole answer. Exactly one of the two is called, once; neither after `abort`. */
export interface CollectedListener {
  answered(body: Buffer, headers: UpstreamHeaders): void;
  failed(failure: Failure): void;
}

/** Collects one answer as a whole, because it can only be converted as a whole. */
export class CollectedAnswer implements UpstreamHandler {
  readonly #limits: Pick<Limits, 'convertedBytes' | 'errorBodyBytes'>;
  readonly #listener: CollectedListener;
  readonly #exchange: { abort(): void };
  #headers: UpstreamHeaders | undefined;
  #errorBody: ErrorBody | undefined;
  #pieces: Buffer[] = [];
  #size = 0;
  #over = false;

  constructor(
    start: (handler: UpstreamHandler) => { abort(): void },
    limits: Pick<Limits, 'convertedBytes' | 'errorBodyBytes'>,
    listener: CollectedListener,
  ) {
    this.#limits = limits;
    this.#listener = listener;
    this.#exchange = start(this);
  }

  abort(): void {
    this.#over = true;
    this.#exchange.abort();
    this.#errorBody?.end(false);
    this.#pieces = [];
  }

  onResponse(status: number, headers: UpstreamHeaders) {
    this.#headers = headers;
    if (status >= 200 && status < 300) {
      const encoding = headers.get('content-encoding') ?? 'identity';
      if (encoding.toLowerCase() !== 'identity') this.#fault(unreadable());
      return;
    }
    this.#errorBody = new ErrorBody(this.#limits.errorBodyBytes, () => this.#exchange.abort());
    this.#fail(statusFault(status, headers, this.#errorBody.whole));
  }

  onData(piece: Buffer) {
    if (this.#errorBody !== undefined) {
      if (!this.#errorBody.take(piece)) this.#exchange.abort();
      return;
    }
    if (this.#over) return;
    this.#size += piece.length;
    if (this.#size > this.#limits.convertedBytes) {
      return this.#fault(new UpstreamFault('oversize', 'The model server sent an answer that is too large.'));
    }
    this.#pieces.push(piece);
  }

  onEnd() {
    this.#errorBody?.end(true);
    if (this.#over || this.#headers === undefined) return;
    this.#over = true;
    const body = Buffer.concat(this.#pieces, this.#size);
    this.#pieces = [];
    this.#listener.answered(body, this.#headers);
  }

  onError(error: UpstreamError) {
    this.#errorBody?.end(false);
    this.#fail(connectionFault(error));
  }

  #fault(fault: UpstreamFault): void {
    this.#exchange.abort();
    this.#fail(answerFault(fault, this.#headers));
  }

  #fail(failure: Failure) {
    if (this.#over) return;
    this.#over = true;
    this.#pieces = [];
    this.#listener.failed(failure);
  }
}

/** A body in an encoding that was not asked for. */
export function unreadable(): UpstreamFault {
  return new UpstreamFault(
    'malformed',
    'The model server answered in a content-encoding that was not asked for.',
  );
}
