/** Bytes kept of each line; nothing longer is searched for. */
const keptPrefix = 64;

/**
 * Finds in a stream of server-sent events where events end (LF, CRLF or CR) and how each line begins, without decoding it.
 * One pass over bytes that are passed on unchanged.
 */
export class SseLines {
  /** Whether the bytes so far end with a complete event, so that a comment may follow them. */
  atBoundary = true;
  /** Where in the last piece its last complete event ends; 0 if none ends in it. */
  boundary = 0;
  readonly #onLine: (start: string) => void;
  readonly #matters: (piece: Buffer, start: number) => boolean;
  #lineLength = 0;
  #afterCr = false;
  /** The start of a line that an earlier piece began. */
  #carried = '';

  /**
   * `onLine` gets the first 64 characters (latin1) of each complete line that is not empty. `matters` may save making that
   * text: it returns false if the line's first bytes show that it is not needed. It is asked only if the line is in one piece.
   */
  constructor(
    onLine: (start: string) => void,
    matters: (piece: Buffer, start: number) => boolean = () => true,
  ) {
    this.#onLine = onLine;
    this.#matters = matters;
  }

  take(piece: Buffer): void {
    this.boundary = 0;
    // Nearly every stream uses LF only, and `indexOf` is much cheaper than reading each byte.
    if (this.#afterCr || piece.includes(0x0d)) this.#takeAnyEnds(piece);
    else this.#takeLineFeeds(piece);
  }

  #takeLineFeeds(piece: Buffer): void {
    let start = 0;
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, start)) {
      this.#lineLength += end - start;
      this.#endLine(piece, start, end);
      start = end + 1;
    }
    if (start === piece.length) return;
    this.#lineLength += piece.length - start;
    this.atBoundary = false;
    this.#carry(piece, start, piece.length);
  }

  #takeAnyEnds(piece: Buffer): void {
    let lineStart = 0;
    for (let at = 0; at < piece.length; at++) {
      const c = piece[at];
      if (c === 0x0a && this.#afterCr) {
        this.#afterCr = false;
        lineStart = at + 1;
        if (this.atBoundary) this.boundary = lineStart;
      } else if (c === 0x0a || c === 0x0d) {
        this.#afterCr = c === 0x0d;
        this.#endLine(piece, lineStart, at);
        lineStart = at + 1;
      } else {
        this.#afterCr = false;
        this.#lineLength += 1;
        this.atBoundary = false;
      }
    }
    if (this.#lineLength > 0) this.#carry(piece, lineStart, piece.length);
  }

  #endLine(piece: Buffer, start: number, end: number): void {
    if (this.#lineLength === 0) {
      this.atBoundary = true;
      this.boundary = end + 1;
      return;
    }
    this.#lineLength = 0;
    this.atBoundary = false;
    if (this.#carried === '' && !this.#matters(piece, start)) return;
    if (start < end) this.#carry(piece, start, end);
    const line = this.#carried;
    this.#carried = '';
    this.#onLine(line);
  }

  #carry(piece: Buffer, start: number, end: number): void {
    const room = keptPrefix - this.#carried.length;
    if (room > 0) this.#carried += piece.toString('latin1', start, Math.min(end, start + room));
  }
}
