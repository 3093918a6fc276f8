/** Why a text is not a JSON object, and where. */
export class JsonScanError extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.name = 'JsonScanError';
    this.offset = offset;
  }
}

/** Byte offsets of one top-level member: the key without its quotes, the value with them. Ends are exclusive. */
export type OnMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void;

/** What the values of a JSON object hold. */
export interface Scanned {
  /** Where the long strings start and stop, flat: offsets of their quotes, stops exclusive. */
  readonly longStrings: readonly number[] | Uint32Array;
  /** Whether a number below the top level may be written otherwise by `JSON.stringify`, as 1.0 or 9223372036854775807. */
  readonly oddNumbers: boolean;
}

/** Least length of a long string in bytes, its quotes included. Below it a mark saves nothing (conversion/long-texts.ts). */
const longString = 160;

/** The same bytes in two views: one by one, and four at a time. */
interface Text {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** Which open brackets are objects. Shared by all scans, which saves an allocation for each. */
let nesting = new Uint8Array(512);

/**
 * Checks that `bytes` (valid UTF-8) are one JSON object (RFC 8259, what JSON.parse accepts) and reports its top-level
 * members, repeated ones too. It builds nothing: a body of a million empty arrays costs JSON.parse hundreds of
 * megabytes, and JSON.parse cannot say where a member is or that it is there twice. Throws JsonScanError.
 */
export function scanObject(bytes: Uint8Array, maxDepth: number, onMember: OnMember): Scanned {
  const text: Text = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
  const end = bytes.length;
  if (maxDepth > nesting.length) nesting = new Uint8Array(maxDepth);
  const inObject = nesting;
  const longStrings: number[] = [];
  let oddNumbers = false;
  let depth = 0;
  let keyStart = 0;
  let keyEnd = 0;
  let valueStart = 0;
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== openBrace) throw new JsonScanError('a JSON object is expected', at);
  for (;;) {
    // A value begins at `at`.
    if (depth === 1) valueStart = at;
    const first = bytes[at];
    if (first === openBrace || first === openBracket) {
      if (depth === maxDepth) throw new JsonScanError(`it is nested more than ${maxDepth} levels deep`, at);
      inObject[depth] = first === openBrace ? 1 : 0;
      depth += 1;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] === (first === openBrace ? closeBrace : closeBracket)) {
        at += 1;
        depth -= 1;
      } else if (first === openBracket) {
        continue;
      } else {
        const stop = keyStop(text, at);
        if (depth === 1) {
          keyStart = at + 1;
          keyEnd = stop - 1;
        }
        at = valueAfterKey(bytes, stop);
        continue;
      }
    } else {
      const stop = scalarStop(text, at);
      if (first === quote) {
        if (stop - at >= longString) longStrings.push(at, stop);
      } else if (depth > 1 && !oddNumbers) oddNumbers = isOddNumber(bytes, at, stop);
      at = stop;
    }
    // A value has ended before `at`; close what ends with it.
    for (;;) {
      if (depth === 1) onMember(keyStart, keyEnd, valueStart, at);
      at = skipSpace(bytes, at);
      if (depth === 0) {
        if (at < end) throw new JsonScanError('there is more text after the object', at);
        return { longStrings, oddNumbers };
      }
      const next = bytes[at];
      const isObject = inObject[depth - 1] === 1;
      if (next === comma) {
        at = skipSpace(bytes, at + 1);
        if (isObject) {
          const stop = keyStop(text, at);
          if (depth === 1) {
            keyStart = at + 1;
            keyEnd = stop - 1;
          }
          at = valueAfterKey(bytes, stop);
        }
        break;
      }
      if (next !== (isObject ? closeBrace : closeBracket)) throw unexpected(bytes, at);
      at += 1;
      depth -= 1;
    }
  }
}

function unexpected(bytes: Uint8Array, at: number): JsonScanError {
  return new JsonScanError(at >= bytes.length ? 'it ends too early' : 'there is an unexpected character', at);
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const c = bytes[at];
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break;
    at += 1;
  }
  return at;
}

/** The end of the key at `at`, after its closing quote. */
function keyStop(text: Text, at: number): number {
  const { bytes } = text;
  if (bytes[at] !== quote) throw unexpected(bytes, at);
  return stringStop(text, at + 1);
}

function valueAfterKey(bytes: Uint8Array, keyStopAt: number): number {
  const at = skipSpace(bytes, keyStopAt);
  if (bytes[at] !== colon) throw unexpected(bytes, at);
  return skipSpace(bytes, at + 1);
}

/**
 * The end of the string whose first character is at `from`. Nearly all of a prompt's bytes pass here, so eight are
 * looked at together: one by one, a long prompt takes longer than JSON.parse does.
 */
function stringStop(text: Text, from: number): number {
  const { bytes, view } = text;
  const end = bytes.length;
  let at = from;
  for (;;) {
    while (at + 8 <= end) {
      const low = marks(view.getInt32(at, true));
      if (low !== 0) {
        at += firstMark(low);
        break;
      }
      const high = marks(view.getInt32(at + 4, true));
      if (high !== 0) {
        at += 4 + firstMark(high);
        break;
      }
      at += 8;
    }
    const c = at < end ? (bytes[at] as number) : -1;
    if (c === quote) return at + 1;
    if (c === backslash) at = escapeStop(bytes, at + 1);
    else if (c >= 0x20) at += 1;
    else if (c < 0) throw unexpected(bytes, at);
    else throw new JsonScanError('there is a control character in a string', at);
  }
}

/**
 * Where four bytes hold a quote, a backslash or a control character: the lowest set bit is the high bit of the first such
 * byte (higher bits may be wrong, because of a borrow); 0 if there is none.
 * With bit 1 turned over, "is 0x22 or below 0x20" is "is below 0x21".
 */
function marks(four: number): number {
  const t = four ^ 0x02020202;
  const b = four ^ 0x5c5c5c5c;
  return (((t - 0x21212121) & ~t) | ((b - 0x01010101) & ~b)) & 0x80808080;
}

/** The index (0 to 3) of the first byte that is marked. */
function firstMark(found: number): number {
  return (31 - Math.clz32(found & -found)) >> 3;
}

function escapeStop(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 1;
    case 0x75: // u
      for (let i = 1; i <= 4; i++) if (!isHex(bytes[at + i])) throw unexpected(bytes, at + i);
      return at + 5;
    default:
      throw unexpected(bytes, at);
  }
}

function isHex(c: number | undefined): boolean {
  if (c === undefined) return false;
  return (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66);
}

function scalarStop(text: Text, at: number): number {
  const { bytes } = text;
  switch (bytes[at]) {
    case quote:
      return stringStop(text, at + 1);
    case 0x74:
      return wordStop(bytes, at, 'true');
    case 0x66:
      return wordStop(bytes, at, 'false');
    case 0x6e:
      return wordStop(bytes, at, 'null');
    default:
      return numberStop(bytes, at);
  }
}

function wordStop(bytes: Uint8Array, at: number, word: string): number {
  for (let i = 1; i < word.length; i++) {
    if (bytes[at + i] !== word.charCodeAt(i)) throw unexpected(bytes, at + i);
  }
  return at + word.length;
}

function isDigit(c: number | undefined): boolean {
  return c !== undefined && c >= 0x30 && c <= 0x39;
}

function digitsStop(bytes: Uint8Array, from: number): number {
  if (!isDigit(bytes[from])) throw unexpected(bytes, from);
  let at = from + 1;
  while (at < bytes.length && isDigit(bytes[at])) at += 1;
  return at;
}

function numberStop(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  at = bytes[at] === 0x30 ? at + 1 : digitsStop(bytes, at);
  if (bytes[at] === 0x2e) at = digitsStop(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const sign = bytes[at + 1];
    at = digitsStop(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

/**
 * Whether a number may be written otherwise when it was read: 16 bytes or more, an exponent, `-0`, a fraction that ends
 * with a zero or begins with many. Words have no digit at their end.
 */
function isOddNumber(bytes: Uint8Array, from: number, stop: number): boolean {
  const last = bytes[stop - 1];
  if (!isDigit(last)) return false;
  if (stop - from >= 16) return true;
  let point = -1;
  for (let at = from; at < stop; at++) {
    const c = bytes[at];
    if (c === 0x65 || c === 0x45) return true;
    if (c === 0x2e) point = at;
  }
  if (point === -1) return stop - from === 2 && bytes[from] === 0x2d && last === 0x30;
  return last === 0x30 || (bytes[point - 1] === 0x30 && stop - point > 7);
}
