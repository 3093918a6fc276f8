/** Most bytes and pieces of an incomplete event that are held back; a longer event is passed on before it is complete. */
const mostKept = 64 * 1024;
const mostPieces = 1000;

/**
 * Passes a stream on by complete events. If a caller got the beginning of an event whose end never comes, the official SDKs
 * would throw a SyntaxError, and never read the error event after it that says what happened.
 */
export class WholeEvents {
  /** Whether what was passed on ends with a complete event, so that a comment may follow it. */
  atBoundary = true;
  #kept: Buffer[] = [];
  #size = 0;

  /** Takes a piece and returns what may be sent. `end`: where its last complete event ends, 0 if none ends in it. */
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

  /** Returns what is held back of an incomplete event, and no longer holds it. */
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
