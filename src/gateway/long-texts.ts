import { randomUUID } from 'node:crypto';
import type { ChatMessage, ChatPart, ChatRequest } from '../convert/chat-request.ts';

/** Units of text that are not worth a search; even shorter ones can have long bytes, such as `\u0000`. */
const least = 128;
/** Bytes of a body below which it is read and written anew in less time. */
const leastBody = 2048;
/** How many texts a search may pass over: conversions keep their order, but join and leave out some. */
const mostPassed = 16;

/** A long string of a JSON body: what it says, and its bytes with both quotation marks. */
interface LongText {
  readonly value: string;
  readonly bytes: Buffer;
}

// Nobody knows it, so nobody's text can be taken for a mark.
const nonce = randomUUID();
const isMark = new RegExp(`^${nonce}:(\\d+)$`);

/**
 * A body whose long strings are remembered together with their bytes, so that a conversion that carries one over need
 * not write it again: of a long prompt that takes far longer than everything else.
 */
export class LongTexts {
  readonly #texts: LongText[] = [];
  #next = 0;

  /** Reads a body that is JSON in UTF-8, with such strings where `places` says, flat. The value is that of `JSON.parse`. */
  parse(body: Buffer, places: readonly number[]): unknown {
    if (body.length < leastBody) return JSON.parse(body.toString('utf8'));
    let marked = '';
    let from = 0;
    for (let index = 0; index < places.length; index += 2) {
      const [start = 0, stop = 0] = [places[index], places[index + 1]];
      const bytes = body.subarray(start, stop);
      marked += `${body.toString('utf8', from, start)}"${nonce}:${this.#texts.length}"`;
      this.#texts.push({ bytes, value: JSON.parse(bytes.toString('utf8')) as string });
      from = stop;
    }
    const value: unknown = JSON.parse(marked + body.toString('utf8', from));
    return from === 0 ? value : this.#put(value);
  }

  /** The bytes of a request, with those of the texts that were carried over. Says the same as `JSON.stringify`. */
  write(chat: ChatRequest): Buffer {
    if (this.#texts.length === 0) return Buffer.from(JSON.stringify(chat));
    const { model, messages, ...rest } = chat;
    const out = new JsonBytes();
    out.text(`{"model":${JSON.stringify(model)},"messages":[`);
    this.#next = 0;
    for (const [index, message] of messages.entries()) {
      if (index > 0) out.text(',');
      this.#message(message, out);
    }
    const others = JSON.stringify(rest);
    out.text(others === '{}' ? ']}' : `],${others.slice(1)}`);
    return out.whole();
  }

  #message(message: ChatMessage, out: JsonBytes): void {
    const { content } = message;
    if (typeof content === 'string') this.#object(message, 'content', content, out);
    else if (Array.isArray(content)) this.#parts(message, content as readonly ChatPart[], out);
    else out.text(JSON.stringify(message));
  }

  #parts(message: ChatMessage, parts: readonly ChatPart[], out: JsonBytes): void {
    const [before, behind] = around({ ...message, content: '' }, 'content');
    out.text(`${before}[`);
    for (const [index, part] of parts.entries()) {
      if (index > 0) out.text(',');
      if (part.type === 'text') this.#object(part, 'text', part.text, out);
      else out.text(JSON.stringify(part));
    }
    out.text(`]${behind}`);
  }

  #object(owner: object, field: string, value: string, out: JsonBytes): void {
    const known = value.length < least ? undefined : this.#find(value);
    if (known === undefined) {
      out.text(JSON.stringify(owner));
      return;
    }
    const [before, behind] = around({ ...owner, [field]: '' }, field);
    out.text(before);
    out.bytes(known);
    out.text(behind);
  }

  #find(value: string): Buffer | undefined {
    const end = Math.min(this.#texts.length, this.#next + mostPassed);
    for (let index = this.#next; index < end; index++) {
      const text = this.#texts[index];
      if (text?.value !== value) continue;
      this.#next = index + 1;
      return text.bytes;
    }
    return undefined;
  }

  /** Puts the texts where their marks are. */
  #put(value: unknown): unknown {
    if (typeof value === 'string') {
      const index = value.startsWith(nonce) ? isMark.exec(value)?.[1] : undefined;
      return index === undefined ? value : this.#texts[Number(index)]?.value;
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

/** The JSON of an object whose `field` is '', before and behind that value. What stands before it are plain fields. */
function around(owner: object, field: string): readonly [string, string] {
  const json = JSON.stringify(owner);
  // A quotation mark within a text has a backslash: this can only be the field.
  const at = json.indexOf(`"${field}":""`) + field.length + 3;
  return [json.slice(0, at), json.slice(at + 2)];
}

/** JSON put together of texts and of bytes that are JSON already. */
class JsonBytes {
  readonly #pieces: Buffer[] = [];
  #text = '';

  text(json: string): void {
    this.#text += json;
  }

  bytes(json: Buffer): void {
    this.#pieces.push(Buffer.from(this.#text), json);
    this.#text = '';
  }

  whole(): Buffer {
    return Buffer.concat([...this.#pieces, Buffer.from(this.#text)]);
  }
}
