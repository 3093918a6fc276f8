/** What a counted line begins with, behind the end of the line before it. */
export const dataLine = Buffer.from('\ndata:');

/**
 * Reads HTTP/1.1 answers of one connection, one after the other, with as little work as verifying them allows: status,
 * bytes of content, and the lines of a chunked one that begin with `marker`.
 */
export class ResponseReader {
  status = 0;
  bodyBytes = 0;
  dataLines = 0;
  marker: Buffer = dataLine;
  #state: 'head' | 'length' | 'size' | 'data' | 'dataEnd' | 'trailer' = 'head';
  #head: Buffer | undefined;
  #left = 0;
  #size = 0;
  #sizeKnown = false;
  /** Bytes of `marker` that the content so far ends with; 1 at its beginning, where a line starts too. */
  #matched = 1;
  #trailerLength = 0;

  /** Takes bytes; true when an answer ended with them. Bytes after the end are an error: nobody asked for more. */
  read(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      switch (this.#state) {
        case 'head': {
          const head = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes]);
          const end = head.indexOf('\r\n\r\n');
          if (end === -1) {
            if (head.length > 65_536) throw new Error('answer: head over 64 KiB');
            this.#head = Buffer.from(head);
            return false;
          }
          at = end + 4 - (head.length - bytes.length);
          this.#head = undefined;
          if (this.#start(head.toString('latin1', 0, end))) return this.#end(at, bytes);
          break;
        }
        case 'length': {
          const taken = Math.min(this.#left, bytes.length - at);
          this.#left -= taken;
          this.bodyBytes += taken;
          at += taken;
          if (this.#left === 0) return this.#end(at, bytes);
          break;
        }
        case 'size':
          at = this.#readSize(bytes, at);
          break;
        case 'data': {
          const taken = Math.min(this.#left, bytes.length - at);
          this.#countLines(bytes.subarray(at, at + taken));
          this.#left -= taken;
          this.bodyBytes += taken;
          at += taken;
          if (this.#left === 0) this.#state = 'dataEnd';
          break;
        }
        case 'dataEnd':
          if (bytes[at++] === 10) this.#state = 'size';
          break;
        case 'trailer':
          // Trailers are lines; the empty one ends the answer.
          if (bytes[at] === 10) {
            if (this.#trailerLength === 0) return this.#end(at + 1, bytes);
            this.#trailerLength = 0;
          } else if (bytes[at] !== 13) this.#trailerLength += 1;
          at += 1;
          break;
      }
    }
    return false;
  }

  /** Begins an answer; true when it has no content. */
  #start(head: string): boolean {
    this.status = Number(head.slice(9, 12));
    this.bodyBytes = 0;
    this.dataLines = 0;
    this.#matched = 1;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length !== null) {
      this.#left = Number(length[1]);
      this.#state = 'length';
      return this.#left === 0;
    }
    if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`answer: no length in ${head}`);
    this.#state = 'size';
    return false;
  }

  #end(at: number, bytes: Buffer): true {
    this.#state = 'head';
    if (at !== bytes.length) throw new Error(`answer: ${bytes.length - at} bytes after its end`);
    return true;
  }

  #readSize(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === 10) {
        this.#left = this.#size;
        this.#state = this.#size === 0 ? 'trailer' : 'data';
        this.#trailerLength = 0;
        this.#size = 0;
        this.#sizeKnown = false;
        return at + 1;
      }
      if (byte === 13 || byte === 59 || this.#sizeKnown) this.#sizeKnown = true;
      else this.#size = this.#size * 16 + (byte <= 57 ? byte - 48 : (byte | 32) - 87);
    }
    return bytes.length;
  }

  /** Counts the lines, also where one is cut between two pieces. */
  #countLines(bytes: Buffer): void {
    const { marker } = this;
    let at = 0;
    while (this.#matched > 0 && this.#matched < marker.length && at < bytes.length) {
      if (bytes[at] === marker[this.#matched]) {
        this.#matched += 1;
        at += 1;
      } else this.#matched = 0;
    }
    if (this.#matched > 0 && this.#matched < marker.length) return;
    if (this.#matched === marker.length) this.dataLines += 1;
    this.#matched = 0;
    for (;;) {
      const found = bytes.indexOf(marker, at);
      if (found === -1) break;
      this.dataLines += 1;
      at = found + marker.length;
    }
    const last = bytes.lastIndexOf(10);
    const tail = last < at ? 0 : bytes.length - last;
    if (tail > 0 && tail < marker.length && bytes.subarray(last).equals(marker.subarray(0, tail))) {
      this.#matched = tail;
    }
  }
}
