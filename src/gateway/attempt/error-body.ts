import { ByteBlocks } from '../../upstream/byte-blocks.ts';
import type { UpstreamConnection } from '../../upstream/connection.ts';
import { maskCredentials } from '../../upstream/mask-credentials.ts';
import { quietly } from '../guard.ts';

/** How long a failed attempt's error body may take after its head. */
const patienceMs = 2_000;

/** Collects a node's error body, to answer the caller with it if no other node does better. Bounded in bytes and time. */
export class ErrorBody {
  /** The whole body, with the node's credentials masked; undefined if it was too long, too slow or broken. */
  readonly whole: Promise<Buffer | undefined>;
  readonly #limit: number;
  readonly #connection: UpstreamConnection;
  readonly #blocks = new ByteBlocks();
  readonly #settle: (body: Buffer | undefined) => void;
  readonly #timer: NodeJS.Timeout;

  /** `giveUp` is called when the rest of the body is not needed. */
  constructor(limit: number, connection: UpstreamConnection, giveUp: () => void) {
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
    this.whole = promise;
    this.#settle = resolve;
    this.#limit = limit;
    this.#connection = connection;
    this.#timer = setTimeout(() => quietly(giveUp, () => this.end(false)), patienceMs);
  }

  /** Returns false once the body is too long: the rest is not needed. */
  take(piece: Buffer): boolean {
    if (this.#blocks.size + piece.length > this.#limit) {
      this.end(false);
      return false;
    }
    this.#blocks.add(piece);
    return true;
  }

  end(complete: boolean): void {
    clearTimeout(this.#timer);
    try {
      if (complete) this.#settle(maskCredentials(this.#blocks.take(), this.#connection));
    } finally {
      // Does nothing after the line above. If masking threw, it keeps the attempt from waiting indefinitely.
      this.#settle(undefined);
      this.#blocks.clear();
    }
  }
}
