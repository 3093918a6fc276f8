import { UpstreamFault } from '../../convert/upstream-fault.ts';
import { type BatchedTask, runTogether } from '../../upstream/batches.ts';
import { ByteBlocks } from '../../upstream/byte-blocks.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import type { UpstreamError } from '../../upstream/error.ts';
import type { UpstreamHandler } from '../../upstream/handler.ts';
import type { UpstreamHeaders } from '../../upstream/headers.ts';
import type { BufferShare } from '../admission/buffer-budget.ts';
import { ErrorBody } from '../attempt/error-body.ts';
import {
  connectionFailure,
  type Failure,
  faultFailure,
  ownFailure,
  statusFailure,
} from '../attempt/failure.ts';
import type { Fallible } from '../guard.ts';
import type { Limits } from '../limits.ts';
import { largeBytes } from '../thread/large-work.ts';

/** Gets the whole answer, whose bytes stay in the share: the listener gives them back. Exactly one of `answered` and `failedWith` is called, once; neither after `abort`. */
export interface CollectedListener extends Fallible {
  answered(body: Buffer, headers: UpstreamHeaders): void;
  failedWith(failure: Failure): void;
}

interface CollectedOptions {
  readonly limits: Pick<Limits, 'convertedBytes' | 'errorBodyBytes'>;
  readonly share: BufferShare;
  readonly connection: UpstreamConnection;
}

/** Collects one answer, which can only be converted as a whole. */
export class CollectedAnswer implements UpstreamHandler, BatchedTask {
  readonly #limits: Pick<Limits, 'convertedBytes' | 'errorBodyBytes'>;
  readonly #share: BufferShare;
  readonly #connection: UpstreamConnection;
  readonly #listener: CollectedListener;
  readonly #exchange: { abort(): void };
  #headers: UpstreamHeaders | undefined;
  #errorBody: ErrorBody | undefined;
  readonly #blocks = new ByteBlocks();
  /** A complete answer, until the listener gets it. */
  #whole: Buffer | undefined;
  #over = false;

  constructor(
    start: (handler: UpstreamHandler) => { abort(): void },
    { limits, share, connection }: CollectedOptions,
    listener: CollectedListener,
  ) {
    this.#limits = limits;
    this.#share = share;
    this.#connection = connection;
    this.#listener = listener;
    this.#exchange = start(this);
  }

  get owner(): string {
    return this.#share.owner;
  }

  /** A large one is inspected in the thread. */
  get weight(): number {
    const { length } = this.#whole ?? nothing;
    return length > largeBytes ? 0 : length;
  }

  abort(): void {
    this.#over = true;
    this.#exchange.abort();
    this.#errorBody?.end(false);
    this.#forget();
  }

  onResponse(status: number, headers: UpstreamHeaders) {
    this.#headers = headers;
    if (status >= 200 && status < 300) {
      if (headers.isEncoded) this.#fault(unreadable());
      return;
    }
    this.#errorBody = new ErrorBody(this.#limits.errorBodyBytes, this.#connection, () =>
      this.#exchange.abort(),
    );
    this.#fail(statusFailure(status, headers, this.#errorBody.whole, false));
  }

  onData(piece: Buffer) {
    if (this.#errorBody !== undefined) {
      if (!this.#errorBody.take(piece)) this.#exchange.abort();
      return;
    }
    if (this.#over) return;
    if (this.#blocks.size + piece.length > this.#limits.convertedBytes) {
      return this.#fault(new UpstreamFault('oversize', 'The model server sent an answer that is too large.'));
    }
    const refused = this.#share.take(piece.length);
    if (refused !== undefined) {
      this.#exchange.abort();
      return this.#fail(ownFailure(refused));
    }
    this.#blocks.add(piece);
  }

  onEnd() {
    this.#errorBody?.end(true);
    if (this.#over || this.#headers === undefined) return;
    this.#over = true;
    this.#whole = this.#blocks.take();
    runTogether(this);
  }

  runNow(): void {
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole !== undefined && this.#headers !== undefined) this.#listener.answered(whole, this.#headers);
  }

  failed(error: unknown): void {
    this.#listener.failed(error);
  }

  onError(error: UpstreamError) {
    this.#errorBody?.end(false);
    this.#fail(connectionFailure(error));
  }

  #fault(fault: UpstreamFault): void {
    this.#exchange.abort();
    this.#fail(faultFailure(fault, this.#headers));
  }

  #fail(failure: Failure) {
    if (this.#over) return;
    this.#over = true;
    this.#forget();
    this.#listener.failedWith(failure);
  }

  #forget() {
    this.#share.give(this.#blocks.size + (this.#whole?.length ?? 0));
    this.#whole = undefined;
    this.#blocks.clear();
  }
}

const nothing = Buffer.alloc(0);

/** The fault for a body with a content-encoding, although none was asked for. */
export function unreadable(): UpstreamFault {
  return new UpstreamFault(
    'malformed',
    'The model server answered in a content-encoding that was not asked for.',
  );
}
