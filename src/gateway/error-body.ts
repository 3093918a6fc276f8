/** How long a failed attempt's error body may take after its head. */
const patienceMs = 2_000;

/** Collects the body of a failed attempt, in case the caller must be answered with it. Bounded in bytes and time. */
export class ErrorBody {
  /** The whole body; undefined when it was too long, too slow or broken. */
  readonly whole: Promise<Buffer | undefined>;
  readonly #limit: number;
  readonly #pieces: Buffer[] = [];
  readonly #settle: (body: Buffer | undefined) => void;
  readonly #timer: NodeJS.Timeout;
  #size = 0;

  /** `give up` is called when the rest of the body is not wanted any more. */
  constructor(limit: number, giveUp: () => void) {
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
    this.whole = promise;
    this.#settle = resolve;
    this.#limit = limit;
    this.#timer = setTimeout(() => {
      giveUp();
      this.end(false);
    }, patienceMs);
  }

  /** Returns false once the body is too long: nothing more is wanted. */
  take(piece: Buffer): boolean {
    this.#size += piece.length;
    if (this.#size <= this.#limit) this.#pieces.push(piece);
    if (this.#size <= this.#limit) return true;
    this.end(false);
    return false;
  }

  end(complete: boolean): void {
    clearTimeout(this.#timer);
    this.#settle(complete ? Buffer.concat(this.#pieces) : undefined);
  }
}
