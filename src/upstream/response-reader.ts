import { UpstreamError } from './error.ts';
import { UpstreamHeaders } from './headers.ts';

/** Receives one response while it is read. */
export interface ResponseListener {
  /** The head of the answer; heads of status 1xx are skipped. */
  onHead(status: number, headers: UpstreamHeaders): void;
  /** A piece of the body, without its framing. */
  onBody(piece: Buffer): void;
  /** The answer is complete. */
  onComplete(): void;
}

/** Limit in bytes of the response head, of the trailers, and of how much chunk extensions may exceed the body. */
const longestHead = 64 * 1024;
/** Upper bound for the `Keep-Alive` timeout that a server announces, in seconds. */
const longestKeepAlive = 600;
/** Most digits of a length: a number with more digits may not be exact. */
const mostDigits = 15;
const mostHexDigits = 12;

const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const fieldName = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
const badValue = /[^\t\x20-\x7e\x80-\xff]/;

type Stage =
  | 'head'
  | 'length'
  | 'untilEnd'
  | 'size'
  | 'extension'
  | 'sizeEnd'
  | 'chunk'
  | 'chunkReturn'
  | 'chunkEnd'
  | 'trailer'
  | 'trailerField'
  | 'trailerEnd'
  | 'lastEnd'
  | 'complete';

/**
 * Reads the HTTP/1.1 responses of one connection, one after the other (RFC 9112). Ambiguous framing is an error.
 * Bodies are passed on as slices of the pieces that were read, without a copy.
 */
export class ResponseReader {
  /** Whether a byte of the current response has arrived. */
  begun = false;
  /** Whether the connection may carry another exchange after this response. */
  reusable = false;
  /** How long the server says that it keeps the idle connection, in seconds; undefined if it does not say. */
  keepAliveSeconds: number | undefined;
  #listener: ResponseListener | undefined;
  #stage: Stage = 'complete';
  /** The beginning of a head that did not arrive in one piece. */
  #head = '';
  /** The remaining bytes of a body or chunk, or the size of a chunk as read so far. */
  #left = 0;
  /** How many digits of a chunk's size, or bytes of trailers, were read. */
  #count = 0;
  /** Bytes of chunk extensions minus bytes of the body: otherwise each byte of the body could come with 64 KiB of extensions. */
  #extensions = 0;

  /** Passes the next response to this listener. */
  expect(listener: ResponseListener): void {
    this.#listener = listener;
    this.#stage = 'head';
    this.begun = false;
    this.reusable = false;
    this.keepAliveSeconds = undefined;
    this.#head = '';
  }

  /** Ignores the rest of the current response. */
  ignore(): void {
    this.#listener = undefined;
  }

  /** Reads a piece. Throws an UpstreamError with the code `protocol`, `too_large` or `reset`; do not read further after it. */
  take(piece: Buffer): void {
    this.begun = true;
    let at = 0;
    while (at < piece.length) {
      switch (this.#stage) {
        case 'head':
          at = this.#takeHead(piece, at);
          break;
        case 'length':
        case 'chunk':
          at = this.#takeBody(piece, at);
          break;
        case 'untilEnd':
          this.#listener?.onBody(at === 0 ? piece : piece.subarray(at));
          return;
        case 'complete':
          // There is no request for this answer: it must not be taken for the answer to the next one.
          this.reusable = false;
          return;
        default:
          at = this.#takeFraming(piece, at);
      }
      if (this.#isComplete()) {
        if (at < piece.length) this.reusable = false;
        // The listener may start the next response in this call, so this must be the last statement.
        this.#listener?.onComplete();
        return;
      }
    }
  }

  /** The connection has ended. Returns whether that completed the response. */
  end(): boolean {
    if (this.#stage !== 'untilEnd') return false;
    this.#stage = 'complete';
    this.#listener?.onComplete();
    return true;
  }

  #isComplete(): boolean {
    return this.#stage === 'complete';
  }

  #takeHead(piece: Buffer, from: number): number {
    if (this.#head === '') {
      const end = piece.indexOf(headEnd, from);
      if (end !== -1) {
        this.#readHead(piece.toString('latin1', from, end + 2));
        return end + 4;
      }
    }
    const before = this.#head.length;
    // Up to three bytes of the terminator may have arrived before.
    const searchFrom = Math.max(0, before - 3);
    this.#head += piece.toString('latin1', from, from + longestHead);
    const end = this.#head.indexOf('\r\n\r\n', searchFrom);
    if (end === -1) {
      if (this.#head.length > longestHead) throw tooLarge(false);
      if (!'HTTP/1.'.startsWith(this.#head.slice(0, 7))) throw broken(false);
      return piece.length;
    }
    const head = this.#head.slice(0, end + 2);
    this.#head = '';
    this.#readHead(head);
    return from + end + 4 - before;
  }

  /** `head` ends with the line end of its last field. */
  #readHead(head: string): void {
    if (head.length > longestHead) throw tooLarge(false);
    let at = head.indexOf('\r\n');
    const line = head.slice(0, at);
    if (!statusLine.test(line)) throw broken(false);
    const status = Number(line.slice(9, 12));
    const flat: string[] = [];
    for (at += 2; at < head.length; ) {
      const end = head.indexOf('\r\n', at);
      const colon = head.indexOf(':', at);
      if (colon === -1 || colon > end) throw broken(false);
      const name = head.slice(at, colon);
      const value = head.slice(colon + 1, end);
      // Other parsers may read white space before a colon, folded lines and control characters as another header.
      if (!fieldName.test(name) || badValue.test(value)) throw broken(false);
      flat.push(name.toLowerCase(), withoutBlanks(value));
      at = end + 2;
    }
    if (status < 200) {
      // The request asked for no protocol upgrade.
      if (status === 101) throw new UpstreamError('reset', false);
      return;
    }
    const headers = new UpstreamHeaders(flat);
    this.#frame(status, headers, line.startsWith('HTTP/1.1'));
    this.#listener?.onHead(status, headers);
  }

  /** How the body ends, and whether the connection lasts (RFC 9112 §6.3, §9.3). */
  #frame(status: number, headers: UpstreamHeaders, isHTTP11: boolean): void {
    const connection = headers.get('connection');
    this.reusable =
      connection === undefined
        ? isHTTP11
        : (isHTTP11 || /(?:^|[\s,])keep-alive(?:$|[\s,])/i.test(connection)) &&
          !/(?:^|[\s,])close(?:$|[\s,])/i.test(connection);
    const keepAlive = headers.get('keep-alive');
    if (keepAlive !== undefined) {
      const seconds = /(?:^|[\s,])timeout=(\d+)/i.exec(keepAlive)?.[1];
      if (seconds !== undefined) this.keepAliveSeconds = Math.min(Number(seconds), longestKeepAlive);
    }
    const coding = headers.get('transfer-encoding');
    const announced = headers.get('content-length');
    if (announced !== undefined && (coding !== undefined || !isLength(announced))) throw broken(false);
    // The request accepts no other coding, and none is decoded here. In HTTP/1.0 this framing is faulty (RFC 9112 §6.1).
    if (coding !== undefined && !(isHTTP11 && coding.toLowerCase() === 'chunked')) throw broken(false);
    if (status === 204 || status === 304) this.#stage = 'complete';
    else if (coding !== undefined) {
      this.#extensions = 0;
      this.#beginSize();
    } else if (announced !== undefined) {
      this.#left = Number(announced);
      this.#stage = this.#left === 0 ? 'complete' : 'length';
    } else {
      this.reusable = false;
      this.#stage = 'untilEnd';
    }
  }

  #takeBody(piece: Buffer, from: number): number {
    const stop = Math.min(piece.length, from + this.#left);
    this.#left -= stop - from;
    if (this.#extensions > 0) this.#extensions = Math.max(0, this.#extensions - (stop - from));
    if (this.#left === 0) this.#stage = this.#stage === 'chunk' ? 'chunkReturn' : 'complete';
    this.#listener?.onBody(stop - from === piece.length ? piece : piece.subarray(from, stop));
    return stop;
  }

  #beginSize(): void {
    this.#stage = 'size';
    this.#left = 0;
    this.#count = 0;
  }

  /** Reads the framing of chunks byte by byte, because it may be split anywhere. */
  #takeFraming(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const c = piece[at] ?? 0;
      switch (this.#stage) {
        case 'size': {
          const digit = hexDigit(c);
          if (digit >= 0) {
            this.#left = this.#left * 16 + digit;
            this.#count += 1;
            if (this.#count > mostHexDigits) throw broken(true);
            continue;
          }
          if (this.#count === 0) throw broken(true);
          if (c === carriageReturn) this.#stage = 'sizeEnd';
          else if (c === semicolon || c === space || c === tab) this.#stage = 'extension';
          else throw broken(true);
          continue;
        }
        case 'extension':
          this.#extensions += 1;
          if (this.#extensions > longestHead) throw tooLarge(true);
          if (c === carriageReturn) this.#stage = 'sizeEnd';
          else if (c === lineFeed) throw broken(true);
          continue;
        case 'sizeEnd':
          if (c !== lineFeed) throw broken(true);
          this.#count = 0;
          this.#stage = this.#left === 0 ? 'trailer' : 'chunk';
          if (this.#stage === 'chunk') return at + 1;
          continue;
        case 'chunkReturn':
          if (c !== carriageReturn) throw broken(true);
          this.#stage = 'chunkEnd';
          continue;
        case 'chunkEnd':
          if (c !== lineFeed) throw broken(true);
          this.#beginSize();
          continue;
        case 'trailer':
          this.#stage = c === carriageReturn ? 'lastEnd' : 'trailerField';
          if (c === lineFeed) throw broken(true);
          continue;
        case 'trailerField':
          this.#lengthen();
          if (c === carriageReturn) this.#stage = 'trailerEnd';
          else if (c === lineFeed) throw broken(true);
          continue;
        case 'trailerEnd':
          if (c !== lineFeed) throw broken(true);
          this.#stage = 'trailer';
          continue;
        default:
          if (c !== lineFeed) throw broken(true);
          this.#stage = 'complete';
          return at + 1;
      }
    }
    return piece.length;
  }

  #lengthen(): void {
    this.#count += 1;
    if (this.#count > longestHead) throw tooLarge(true);
  }
}

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const semicolon = 0x3b;

function hexDigit(c: number): number {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  const lower = c | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Not `trim`: a byte of a UTF-8 character may be white space in latin1. */
function withoutBlanks(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && isBlank(value.charCodeAt(start))) start += 1;
  while (start < end && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isBlank(c: number): boolean {
  return c === space || c === tab;
}

function isLength(text: string): boolean {
  return text.length <= mostDigits && /^\d+$/.test(text);
}

function broken(answered: boolean): UpstreamError {
  return new UpstreamError('protocol', answered);
}

function tooLarge(answered: boolean): UpstreamError {
  return new UpstreamError('too_large', answered);
}
