/** Most bytes, and pieces, that are kept of an event; of a longer one the beginning goes out before its end is here. */
const mostKept = 64 * 1024;
const mostPieces = 1000;

/**
 * Lets a stream through by whole events. Of an event whose end never comes a caller would have text that it cannot read:
 * the official SDKs throw a SyntaxError over it, and never get to the error behind it that says what happened.
 */
export class WholeEvents {
  /** Whether what was let through ends with a whole event, so that something else may be put behind it. */
  atBoundary = true;
  #kept: Buffer[] = [];
  #size = 0;

  /** What may go out now that `piece` is here; `end` is where the last event ends that ends in it, 0 where none does. */
  take(piece: Buffer, end: number): readonly Buffer[] {
    if (end === piece.length && this.#kept.length === 0) {
      this.atBoundary = true;
      return [piece];
    }
    const whole = end === 0 ? [] : [...this.rest(), piece.subarray(0, end)];
    if (end > 0) this.atBoundary = true;
    if (end < piece.length) this.#keep(piece.subarray(end));
    if (this.atBoundary && this.#size <= mostKept && this.#kept.length <= mostPieces) return whole;
    this.atBoundary = false;
    return [...whole, ...this.rest()];
  }

  /** What is kept of an event that has not ended; nothing of it is kept any longer. */
  rest(): readonly Buffer[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#size = 0;
    return kept;
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes);
    this.#size += bytes.length;
  }
}
