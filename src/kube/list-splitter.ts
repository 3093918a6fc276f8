import { ApiError } from './api-error.ts';
import { maxObjectLength } from './parse-object.ts';

/** The most bytes of a list without its objects: that is only its kind and its version. */
const maxFrameLength = 64 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const blank = 0x20;
const newline = 0x0a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Cannot occur inside a string, where quotes have a backslash before them. */
const beginsItems = /"items"\s*:\s*\[$/;

/**
 * Splits a list into the texts of its objects while its bytes arrive: 100,000 keys are 160 MB, which should not be in memory at
 * once, and which JSON.parse would take a second to parse without interruption.
 */
export class ListSplitter {
  #place: 'before' | 'between' | 'inside' | 'after' = 'before';
  #frame = '';
  #head = '{}';
  /** The pieces of the object that is not complete yet. */
  #pieces: Uint8Array[] = [];
  #length = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** The JSON text of the list without its objects, as far as it has arrived. */
  get frame(): string {
    return this.#frame;
  }

  /** The JSON text of the list before its objects. */
  get head(): string {
    return this.#head;
  }

  /**
   * Takes the next bytes.
   *
   * @returns the text of each object that ends in them; it may not be valid JSON
   * @throws ApiError `ResponseTooLarge` for an object of more than 16 MiB, or when more than 64 KiB lie around them;
   *   `InvalidResponse` for a member of the list that is no object
   */
  push(bytes: Uint8Array): string[] {
    const ended: string[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#place === 'inside') {
        const end = this.#endOfObject(bytes, at);
        this.#keep(bytes.subarray(at, end));
        if (this.#depth === 0) ended.push(this.#take());
        at = end;
      } else if (this.#place === 'between') {
        const byte = bytes[at];
        // Anything else must not be skipped: the list would seem to have no objects, and no key would be accepted.
        if (byte === openBrace) this.#place = 'inside';
        else if (byte === closeBracket) this.#place = 'after';
        else if (byte === comma || byte === blank || byte === newline) at += 1;
        else throw notAList();
      } else {
        const bracket = this.#place === 'before' ? bytes.indexOf(openBracket, at) : -1;
        const end = bracket === -1 ? bytes.length : bracket + 1;
        this.#frame += Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString('latin1');
        if (this.#frame.length > maxFrameLength) throw tooLarge('besides its objects', maxFrameLength);
        if (bracket !== -1 && beginsItems.test(this.#frame)) {
          this.#place = 'between';
          this.#head = `${this.#frame}]}`;
        }
        at = end;
      }
    }
    return ended;
  }

  /** Reads to the end of the object, or of the bytes. */
  #endOfObject(bytes: Uint8Array, from: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) {
        inString = true;
      } else if (byte === openBrace) {
        depth += 1;
      } else if (byte === closeBrace) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    return Math.min(at + 1, bytes.length);
  }

  #keep(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length > maxObjectLength) throw tooLarge('in one object', maxObjectLength);
  }

  #take(): string {
    const [first] = this.#pieces as [Uint8Array];
    const all = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    this.#place = 'between';
    return Buffer.from(all.buffer, all.byteOffset, all.byteLength).toString('utf8');
  }
}

function notAList(): ApiError {
  return new ApiError(0, 'InvalidResponse', 'the API server sent a list of something else than objects');
}

function tooLarge(where: string, limit: number): ApiError {
  const message = `the API server sent a list with more than ${limit} bytes ${where}`;
  return new ApiError(0, 'ResponseTooLarge', message);
}
