import { isObject, parseJson } from '../../convert/json.ts';
import { eventsIn } from '../../convert/sse-reader.ts';
import { SseSplitter } from '../../convert/sse-splitter.ts';
import type { TokenUsage } from '../../observe/request-record.ts';
import { type CallerFormat, isEndpoint } from '../../routing/caller-format.ts';
import type { GatewayError } from '../errors/errors.ts';
import { endsAnswer, eventMeaning, typeOf } from './event-meaning.ts';
import type { StreamStart } from './held-stream.ts';
import { type ResponseSoFar, streamError } from './stream-errors.ts';
import { readTokenUsage } from './token-usage.ts';

/** The last pieces that are kept. After a finish reason come at most a usage event and `[DONE]`. */
const rememberedPieces = 4;
const rememberedBytes = 4 * 1024;

/** Most bytes of an incomplete event that are held back; a longer event is passed on before it is complete. */
const mostKept = 64 * 1024;

const unknownResponse = { id: 'resp_failed', model: null, createdAt: 0 };

/**
 * Follows a stream that is passed on: what may be sent now, whether a comment may follow, and whether it is complete. It
 * passes complete events on. If a caller got the beginning of an event whose end never comes, the official SDKs would throw
 * a SyntaxError, and never read the error event after it that says what happened.
 */
export class StreamWatch {
  readonly #format: CallerFormat;
  /** Whether the format's events have a type. */
  readonly #isTyped: boolean;
  readonly #start: StreamStart;
  readonly #mask: (bytes: Buffer) => Buffer;
  readonly #events = new SseSplitter();
  #ended = false;
  /** Whether the node has reported an error. */
  failed = false;
  /** Whether what was passed on ends with a complete event, so that a comment may follow it. */
  atBoundary = true;
  #lastPieces: Buffer[] = [];

  /** `mask` removes the node's credentials from its error events. */
  constructor(format: CallerFormat, start: StreamStart, mask: (bytes: Buffer) => Buffer) {
    this.#format = format;
    this.#isTyped = format === 'messages' || format === 'responses';
    this.#start = start;
    this.#mask = mask;
  }

  /** Reads a piece and returns what may be sent to the caller now: complete events. */
  take(piece: Buffer): Buffer {
    if (this.#lastPieces.length === rememberedPieces) this.#lastPieces.shift();
    // A copy of the end of a large piece: a reference would keep all of it in memory.
    this.#lastPieces.push(
      piece.length > rememberedBytes ? Buffer.from(piece.subarray(-rememberedBytes)) : piece,
    );
    const complete = this.#events.take(piece);
    if (complete.length > 0) this.atBoundary = true;
    if (this.atBoundary && this.#events.kept <= mostKept) return this.#judged(complete);
    this.atBoundary = false;
    return this.#judged(Buffer.concat([complete, this.#events.rest()]));
  }

  /** The rest of a stream that ended without a blank line. */
  rest(): Buffer {
    return this.#judged(this.#events.rest());
  }

  /**
   * Whether the stream has ended as its format says; if its bytes end before that, it failed. Endpoints have no common last
   * event: there HTTP's framing says it.
   */
  get complete(): boolean {
    if (this.#ended || isEndpoint(this.#format)) return true;
    const unfinished = this.#events.unfinished.toString('latin1');
    // Some servers end with `[DONE]` without a line end.
    if (/^data: ?\[DONE\]/m.test(unfinished)) return true;
    const lastEnd = Math.max(unfinished.lastIndexOf('\n'), unfinished.lastIndexOf('\r'));
    return this.#typesIn(unfinished.slice(0, lastEnd + 1)).last !== undefined;
  }

  /** The events that end a broken stream, after what was sent. */
  broken(error: GatewayError): string {
    const between = this.atBoundary ? '' : '\n\n';
    const soFar = { ...(this.#start.response ?? unknownResponse), sequence: this.#sequence() };
    return between + streamError(this.#format, error, soFar);
  }

  /** The token usage that the end of the stream reports. */
  usage(): TokenUsage | undefined {
    return readTokenUsage(Buffer.concat(this.#lastPieces), this.#start.message);
  }

  /** The last `sequence_number` of a responses stream. */
  #sequence(): ResponseSoFar['sequence'] {
    const numbers = [...this.#tail().matchAll(/"sequence_number"\s*:\s*(\d+)/g)];
    return Number(numbers.at(-1)?.[1] ?? -1);
  }

  #tail(): string {
    return Buffer.concat(this.#lastPieces).toString('latin1');
  }

  /** Masks events if they report an error: a node's error may repeat the headers that it got. */
  #judged(bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes;
    const text = bytes.toString('latin1');
    const { last, mustParse } = this.#typesIn(text);
    if (last !== undefined) this.#ended = true;
    if (last === 'error' || last === 'response.failed') this.failed = true;
    if (!this.failed) {
      if (!mustParse && !mayMatter.test(text)) return bytes;
      if (!this.#isTyped && finish.test(text)) this.#ended = true;
      if (this.#areReadable(bytes)) return bytes;
    }
    return this.#mask(bytes);
  }

  /**
   * The last event of messages or responses that ends an answer, by its name or by the first member of its data; and whether
   * an event must be parsed, because neither of the two is its type.
   */
  #typesIn(text: string): { readonly last: string | undefined; readonly mustParse: boolean } {
    let last: string | undefined;
    let mustParse = false;
    let isNamed = false;
    const lines = this.#isTyped ? text.split(text.includes('\r') ? /\r\n|\n|\r/ : '\n') : [];
    for (const line of lines) {
      const [, name, type] = /^(?:event: ?([\w.]+)|data: ?\{"type": ?"([\w.]+))/.exec(line) ?? [];
      const word = type ?? name;
      if (word === undefined && !isNamed && line.startsWith('data:')) mustParse = true;
      isNamed = name !== undefined;
      if (word !== undefined && endsAnswer(this.#format, word)) last = word;
    }
    return { last, mustParse };
  }

  /** Reads events that may report an error; false if one does, or cannot be read. */
  #areReadable(bytes: Buffer): boolean {
    let areReadable = true;
    for (const { event, data } of eventsIn(bytes)) {
      const isRead = isObject(parseJson(data));
      const isDone = data.trim() === '[DONE]';
      if (isRead && eventMeaning(this.#format, event, data) === 'error') this.failed = true;
      if (this.failed || isDone || (isRead && endsAnswer(this.#format, typeOf(event, data))))
        this.#ended = true;
      if (this.failed || !(isRead || isDone)) areReadable = false;
    }
    return areReadable;
  }
}

/**
 * Finds, in latin1, what may report an error or end an answer: `"error"` unless it is a member that is null, an event of
 * that name, a `finish_reason` that is a text, `[DONE]`, and an escaped ASCII letter, which no encoder writes by itself. In a
 * model's text the quotes of `"error"` are escaped. One expression without a leading quote: a second one, or the quote, would
 * double the cost for every piece.
 */
const mayMatter = /(?:error(?:"(?![ \t]*:[ \t]*null)|[\r\n])|finish_reason"[ \t]*:[ \t]*"|\[DONE)|\\u00[67]/;
const finish = /"finish_reason"[ \t]*:[ \t]*"/;
