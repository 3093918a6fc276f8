import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../convert/json.ts';

// Nobody knows it, so nobody's text can be taken for a mark.
const nonce = randomUUID();
const isMark = new RegExp(`^${nonce}:(\\d+);$`);

/** The types of content parts and tool results whose text conversions carry over. */
const textTypes: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
const outputTypes: ReadonlySet<unknown> = new Set(['function_call_output', 'custom_tool_call_output']);

/** A long string of a JSON body: its bytes between the quotation marks, and whether a mark stands for it. */
interface LongText {
  readonly bytes: Buffer;
  carried: boolean;
}

/**
 * The long texts of a body on their way through a conversion. In the value that is converted a mark stands for each text
 * that conversions carry over and do not look into; in the request that is written its own bytes stand there again, as
 * the caller wrote them. Reading and writing them anew takes most of the time of converting a long prompt.
 */
export class LongTexts {
  readonly #texts: LongText[] = [];

  /**
   * Reads a body that is JSON in UTF-8, with long strings where `places` says, flat. The value is that of `JSON.parse`
   * but for the marks: only in what messages, input items and the system prompt say. Joining texts and putting other
   * text around them leaves marks intact; cutting them, or writing them as JSON within a string, does not.
   */
  parse(body: Buffer, places: readonly number[]): unknown {
    let marked = '';
    let from = 0;
    for (let index = 0; index < places.length; index += 2) {
      const [start = 0, stop = 0] = [places[index], places[index + 1]];
      marked += `${body.toString('utf8', from, start + 1)}${nonce}:${this.#texts.length};`;
      this.#texts.push({ bytes: body.subarray(start + 1, stop - 1), carried: false });
      from = stop - 1;
    }
    const value: unknown = JSON.parse(marked + body.toString('utf8', from));
    if (from === 0) return value;
    if (isObject(value)) this.#carryConversation(value);
    return this.#texts.every(({ carried }) => carried) ? value : this.#put(value);
  }

  /** The bytes of a request, with those of the texts that were carried over. */
  write(chat: object): Buffer {
    const json = JSON.stringify(chat);
    const pieces: Buffer[] = [];
    let from = 0;
    for (let at = json.indexOf(nonce); at !== -1; at = json.indexOf(nonce, from)) {
      const number = at + nonce.length + 1;
      const end = json.indexOf(';', number);
      pieces.push(Buffer.from(json.slice(from, at)));
      pieces.push(this.#texts[Number(json.slice(number, end))]?.bytes ?? nothing);
      from = end + 1;
    }
    if (from === 0) return Buffer.from(json);
    pieces.push(Buffer.from(json.slice(from)));
    return Buffer.concat(pieces);
  }

  #carryConversation(body: JsonObject): void {
    this.#carry(body['system']);
    // What is echoed is part of the reply.
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

  /** A content: one text, or parts, of which tool results have contents of their own. */
  #carry(content: unknown): void {
    if (typeof content === 'string') this.#carryText(content);
    if (!Array.isArray(content)) return;
    for (const part of content as readonly unknown[]) {
      if (!isObject(part)) continue;
      if (textTypes.has(part['type'])) this.#carryText(part['text']);
      // Of an error it is asked whether it says so itself.
      else if (part['type'] === 'tool_result' && part['is_error'] !== true) this.#carry(part['content']);
    }
  }

  #carryText(value: unknown): void {
    const text = typeof value === 'string' ? this.#marked(value) : undefined;
    if (text !== undefined && isOpaque(text.bytes)) text.carried = true;
  }

  #marked(value: string): LongText | undefined {
    const number = value.startsWith(nonce) ? isMark.exec(value)?.[1] : undefined;
    return number === undefined ? undefined : this.#texts[Number(number)];
  }

  /** Puts all other texts where their marks are. */
  #put(value: unknown): unknown {
    if (typeof value === 'string') {
      const text = this.#marked(value);
      return text === undefined || text.carried ? value : JSON.parse(`"${text.bytes.toString('utf8')}"`);
    }
    if (typeof value !== 'object' || value === null) return value;
    const owner = value as Record<string, unknown>;
    for (const key of Object.keys(owner)) {
      const child = owner[key];
      if (typeof child === 'string' ? child.length > nonce.length : typeof child === 'object')
        owner[key] = this.#put(child);
    }
    return value;
  }
}

/**
 * Whether a text begins as most do, so that all that conversions ask of one is known: it is not blank, and it is not the
 * header that Claude Code puts before its system prompt (which begins with x).
 */
function isOpaque(bytes: Buffer): boolean {
  const first = bytes[0] ?? 0;
  if (first >= 0x80) return /^\S/.test(bytes.toString('utf8', 0, 3));
  return first > 0x20 && first !== 0x5c && first !== 0x78;
}

const nothing = Buffer.alloc(0);
