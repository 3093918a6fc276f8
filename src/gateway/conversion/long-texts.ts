import { isObject, type JsonObject } from '../../convert/json.ts';
import { parseAsWritten } from '../../convert/written-numbers.ts';
import type { AssembledBody } from '../../upstream/request.ts';
import type { Scanned } from '../admission/json-scan.ts';
import { indexAt, indexOfMark, markLength, nextMark, writeMark } from './text-marks.ts';

/** The types of content parts and tool results whose text conversions carry over. */
const textTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
const outputTypes: ReadonlySet<unknown> = new Set(['function_call_output', 'custom_tool_call_output']);

/** A long string of a JSON body: where its bytes between the quotes are, and whether a mark replaces it. */
interface LongText {
  readonly start: number;
  readonly stop: number;
  carried: boolean;
}

/** Memory for the rest of a body without its long texts, shared by all bodies: most fit, and an allocation is saved. */
const room = Buffer.allocUnsafeSlow(16 * 1024);

/** Copying this many bytes one by one is faster than a call into Node.js. */
const fewBytes = 128;

/**
 * The long texts of a body during a conversion. In the value that is converted a mark replaces each text that conversions
 * carry without reading it; in the request that is written the caller's bytes replace the mark. Parsing and writing these
 * texts would be most of the time of converting a long prompt.
 */
export class LongTexts {
  readonly #texts: LongText[] = [];
  #body: Buffer = nothing;

  /**
   * Reads a body that is JSON in UTF-8, with long strings and odd numbers as the scan found them. The value is that of
   * `JSON.parse`, except numbers that would be written differently (WrittenNumber), and except the marks, which are only in
   * messages, input items and the system prompt. A conversion may join texts and put text around them; it must not cut them
   * or write them as JSON within a string.
   */
  parse(body: Buffer, { longStrings: places, oddNumbers }: Scanned): unknown {
    const read = oddNumbers ? parseAsWritten : parsePlain;
    if (places.length === 0) return read(body.toString());
    this.#body = body;
    let size = body.length;
    for (let index = 0; index < places.length; index += 2) {
      const [start = 0, stop = 0] = [places[index], places[index + 1]];
      this.#texts.push({ start: start + 1, stop: stop - 1, carried: false });
      size += markLength - (stop - start - 2);
    }
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
    const value = read(marked.toString('utf8', 0, size));
    if (isObject(value)) this.#carryConversation(value);
    return this.#texts.every(({ carried }) => carried) ? value : this.#put(value);
  }

  /** A request as it is sent, with the caller's bytes for the marks. Not after the caller's body was freed. */
  body(chat: object): AssembledBody {
    return new MarkedBody(JSON.stringify(chat), this.#body, this.#texts);
  }

  #carryConversation(body: JsonObject): void {
    this.#carry(body['system']);
    // Echoed texts are part of the answer, so they are read.
    if (body['echo'] !== true) this.#carry(body['prompt']);
    for (const items of [body['messages'], body['input']]) {
      if (!Array.isArray(items)) continue;
      for (const item of items as readonly unknown[]) {
        if (!isObject(item)) continue;
        if (typeof item['role'] === 'string') this.#carry(item['content']);
        else if (outputTypes.has(item['type'])) this.#carry(item['output']);
      }
    }
  }

  /** A content: one text, or parts; a tool result has a content of its own. */
  #carry(content: unknown): void {
    if (typeof content === 'string') this.#carryText(content);
    if (!Array.isArray(content)) return;
    for (const part of content as readonly unknown[]) {
      if (!isObject(part)) continue;
      if (textTypes.has(part['type'])) this.#carryText(part['text']);
      // The conversion reads whether the text of an error says that it is one.
      else if (part['type'] === 'tool_result' && part['is_error'] !== true) this.#carry(part['content']);
    }
  }

  #carryText(value: unknown): void {
    const text = typeof value === 'string' ? this.#marked(value) : undefined;
    if (text !== undefined && isOpaque(this.#body, text)) text.carried = true;
  }

  #marked(value: string): LongText | undefined {
    const index = indexOfMark(value);
    return index === undefined ? undefined : this.#texts[index];
  }

  /** Replaces the marks that are not sent by their texts. */
  #put(value: unknown): unknown {
    if (typeof value === 'string') {
      const text = this.#marked(value);
      return text === undefined || text.carried
        ? value
        : JSON.parse(`"${this.#body.toString('utf8', text.start, text.stop)}"`);
    }
    if (typeof value !== 'object' || value === null) return value;
    const owner = value as Record<string, unknown>;
    for (const key of Object.keys(owner)) {
      const child = owner[key];
      if (typeof child === 'string' ? child.length === markLength : typeof child === 'object')
        owner[key] = this.#put(child);
    }
    return value;
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
      const text = texts[indexAt(json, mark)];
      if (text === undefined) throw new Error('a text of the request was let go before it was written');
      const { start, stop } = text;
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

/**
 * Whether a text begins as most do, so that conversions need not read it: it is not blank, and it is not the header that
 * Claude Code puts before its system prompt (which begins with x).
 */
function isOpaque(body: Buffer, { start, stop }: LongText): boolean {
  const first = start < stop ? (body[start] ?? 0) : 0;
  if (first >= 0x80) return /^\S/.test(body.toString('utf8', start, start + 3));
  return first > 0x20 && first !== 0x5c && first !== 0x78;
}

const nothing = Buffer.alloc(0);
