const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const blankLine = '\n\n';
const nothing = Buffer.alloc(0);

/**
 * Splits a stream of server-sent events into complete events, by their blank lines (LF, CRLF or CR). It reads each byte
 * once, however the stream is cut, and decodes none. It is the only code that finds where events end: streams that are held
 * back, passed on and converted all use it.
 */
export class SseSplitter {
  /** The incomplete event is in the first `#kept` bytes: the piece that began it, or memory of this splitter. */
  #room: Buffer = nothing;
  #kept = 0;
  /** Whether the line that the next byte continues is empty so far. */
  #isLineEmpty = true;
  #afterCr = false;
  /** Whether the last complete line was blank. */
  #isBlank = false;

  /** How many bytes of an incomplete event are kept. */
  get kept(): number {
    return this.#kept;
  }

  /** Returns the bytes up to the end of the last complete event; none if no event ends in this piece. Keeps the rest. */
  take(piece: Buffer): Buffer {
    const end = this.#endOfEvents(piece);
    if (this.#kept === 0 && end === piece.length) return piece;
    if (end === 0) {
      this.#keep(piece);
      return nothing;
    }
    if (this.#kept > 0) this.#keep(piece.subarray(0, end));
    const complete = this.#kept > 0 ? this.rest() : piece.subarray(0, end);
    if (end < piece.length) this.#keep(piece.subarray(end));
    return complete;
  }

  /** The bytes that are kept of an incomplete event. */
  get unfinished(): Buffer {
    return this.#room.subarray(0, this.#kept);
  }

  /** Returns the bytes of an incomplete event, and keeps them no longer. */
  rest(): Buffer {
    const kept = this.unfinished;
    this.#room = nothing;
    this.#kept = 0;
    return kept;
  }

  /** Where in the piece the last complete event ends; 0 if none ends in it. */
  #endOfEvents(piece: Buffer): number {
    const { length } = piece;
    // Nearly every piece ends like this.
    if (piece[length - 1] === lineFeed && piece[length - 2] === lineFeed) {
      this.#isLineEmpty = true;
      this.#afterCr = false;
      return length;
    }
    if (this.#afterCr || piece.includes(carriageReturn)) return this.#endAfterAnyLine(piece);
    const blank = piece.lastIndexOf(blankLine);
    const first = this.#isLineEmpty && piece[0] === lineFeed ? 1 : 0;
    if (length > 0) this.#isLineEmpty = piece[length - 1] === lineFeed;
    return blank === -1 ? first : blank + blankLine.length;
  }

  #endAfterAnyLine(piece: Buffer): number {
    let end = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at];
      if (byte === lineFeed && this.#afterCr) {
        // The second half of a line end. After a blank line it belongs to the event before it.
        this.#afterCr = false;
        if (this.#isBlank) end = at + 1;
      } else if (byte === lineFeed || byte === carriageReturn) {
        this.#afterCr = byte === carriageReturn;
        this.#isBlank = this.#isLineEmpty;
        if (this.#isBlank) end = at + 1;
        this.#isLineEmpty = true;
      } else {
        this.#afterCr = false;
        this.#isLineEmpty = false;
      }
    }
    return end;
  }

  #keep(bytes: Buffer): void {
    const size = this.#kept + bytes.length;
    if (this.#kept === 0) this.#room = bytes;
    else {
      if (size > this.#room.length) {
        const room = Buffer.allocUnsafe(Math.max(size, 2 * this.#room.length));
        this.unfinished.copy(room);
        this.#room = room;
      }
      bytes.copy(this.#room, this.#kept);
    }
    this.#kept = size;
  }
}
