import type { LongTextReader } from '../../convert/unread-text.ts';
import { parseAsWritten } from '../../convert/written-numbers.ts';
import type { AssembledBody } from '../../upstream/request.ts';
import type { Scanned } from '../admission/json-scan.ts';
import { indexAt, markLength, nextMark, writeMark } from './text-marks.ts';

/** Where the bytes of a long string of a JSON body are, between the quotes. */
interface LongText {
  readonly start: number;
  readonly stop: number;
}

/** Memory for the rest of a body without its long texts, shared by all bodies: most fit, and an allocation is saved. */
const room = Buffer.allocUnsafeSlow(16 * 1024);

/** Copying this many bytes one by one is faster than a call into Node.js. */
const fewBytes = 128;

/**
 * The long texts of a body during a conversion. A mark replaces each in the value that is converted, and the caller's bytes
 * replace the marks in the request that is written. Parsing and writing these texts would be most of the time of
 * converting a long prompt.
 */
export class LongTexts implements LongTextReader {
  readonly #texts: LongText[] = [];
  #body: Buffer = nothing;

  /**
   * Reads a body that is JSON in UTF-8, with long strings and odd numbers as the scan found them. The value is that of
   * `JSON.parse`, except for the marks, and for numbers that would be written differently (WrittenNumber).
   */
  parse(body: Buffer, { longStrings: places, oddNumbers }: Scanned): unknown {
    const read = oddNumbers ? parseAsWritten : parsePlain;
    let size = body.length;
    for (let index = 0; index < places.length; index += 2) {
      const text = { start: (places[index] ?? 0) + 1, stop: (places[index + 1] ?? 0) - 1 };
      if (!isReplaced(body, text)) continue;
      this.#texts.push(text);
      size += markLength - (text.stop - text.start);
    }
    if (this.#texts.length === 0) return read(body.toString());
    this.#body = body;
    const marked = size <= room.length ? room : Buffer.allocUnsafeSlow(size);
    let from = 0;
    let to = 0;
    for (const [index, { start, stop }] of this.#texts.entries()) {
      copyBytes(body, from, start, marked, to);
      to += start - from;
      writeMark(marked, to, index);
      to += markLength;
      from = stop;
    }
    copyBytes(body, from, body.length, marked, to);
    return read(marked.toString('utf8', 0, size));
  }

  read(text: string): string {
    if (text.length < markLength || this.#texts.length === 0) return text;
    let read = '';
    let from = 0;
    for (let mark = nextMark(text, 0); mark !== -1; mark = nextMark(text, from)) {
      const { start, stop } = textAt(this.#texts, text, mark);
      read +=
        text.slice(from, mark) + (JSON.parse(`"${this.#body.toString('utf8', start, stop)}"`) as string);
      from = mark + markLength;
    }
    return from === 0 ? text : read + text.slice(from);
  }

  readWithin(value: unknown): unknown {
    if (this.#texts.length === 0) return value;
    if (typeof value === 'string') return this.read(value);
    if (typeof value !== 'object' || value === null) return value;
    const owner = value as Record<string, unknown>;
    for (const key of Object.keys(owner)) {
      const child = owner[key];
      if (typeof child === 'string' ? child.length === markLength : typeof child === 'object')
        owner[key] = this.readWithin(child);
    }
    return value;
  }

  /** The request to send: the caller's bytes replace the marks. Must not be called after the caller's body was freed. */
  body(chat: object): AssembledBody {
    return new MarkedBody(JSON.stringify(chat), this.#body, this.#texts);
  }
}

/** A JSON text in which marks replace parts of the caller's body. */
class MarkedBody implements AssembledBody {
  readonly length: number;
  readonly #json: string;
  readonly #source: Buffer;
  /** Where each mark is, and the bytes that it replaces. */
  readonly #marks: { readonly mark: number; readonly start: number; readonly stop: number }[] = [];

  /** Throws if a mark is not one of `texts`. */
  constructor(json: string, source: Buffer, texts: readonly LongText[]) {
    this.#json = json;
    this.#source = source;
    let length = Buffer.byteLength(json);
    for (let mark = nextMark(json, 0); mark !== -1; mark = nextMark(json, mark + markLength)) {
      const { start, stop } = textAt(texts, json, mark);
      length += stop - start - markLength;
      this.#marks.push({ mark, start, stop });
    }
    this.length = length;
  }

  writeTo(target: Buffer, at: number): void {
    let from = 0;
    let to = at;
    for (const { mark, start, stop } of this.#marks) {
      to = writeText(this.#json, from, mark, target, to);
      to += this.#source.copy(target, to, start, stop);
      from = mark + markLength;
    }
    writeText(this.#json, from, this.#json.length, target, to);
  }
}

function parsePlain(text: string): unknown {
  return JSON.parse(text);
}

/** Copies `from` to `stop` of a body to `target` at `at`. */
function copyBytes(body: Buffer, from: number, stop: number, target: Buffer, at: number): void {
  if (stop - from > fewBytes) body.copy(target, at, from, stop);
  else for (let index = from; index < stop; index++) target[at + index - from] = body[index] ?? 0;
}

/** Writes `from` to `stop` of a text to `target` at `at`, and returns where it ends there. */
function writeText(text: string, from: number, stop: number, target: Buffer, at: number): number {
  if (stop - from > fewBytes) return at + target.write(text.slice(from, stop), at);
  let to = at;
  for (let index = from; index < stop; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x80) return to + target.write(text.slice(index, stop), to);
    target[to++] = code;
  }
  return to;
}

/** The text whose mark is at `mark` of a text. */
function textAt(texts: readonly LongText[], marked: string, mark: number): LongText {
  const text = texts[indexAt(marked, mark)];
  if (text === undefined) throw new Error('a text of the request was let go before it was written');
  return text;
}

/** Whether a mark may replace a text: conversions look at how a text begins (convert/unread-text.ts). */
function isReplaced(body: Buffer, { start, stop }: LongText): boolean {
  const first = start < stop ? (body[start] ?? 0) : 0;
  if (first >= 0x80) return /^\S/.test(body.toString('utf8', start, start + 3));
  return first > 0x20 && first !== 0x5c && first !== 0x78;
}

const nothing = Buffer.alloc(0);
