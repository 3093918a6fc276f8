import { isObject, parseJson } from '../../convert/json.ts';
import type { TokenUsage } from '../../observe/request-record.ts';
import type { CallerFormat } from '../../routing/caller-format.ts';
import type { GatewayError } from '../errors/errors.ts';
import { endsAnswer, eventMeaning, lastWords } from './event-meaning.ts';
import type { StreamStart } from './held-stream.ts';
import { eventsIn } from './sse-events.ts';
import { SseLines } from './sse-lines.ts';
import { type ResponseSoFar, streamError } from './stream-errors.ts';
import { readTokenUsage } from './token-usage.ts';
import { WholeEvents } from './whole-events.ts';

/** The last pieces that are kept. After a finish reason come at most a usage event and `[DONE]`. */
const rememberedPieces = 4;
const rememberedBytes = 4 * 1024;

const unknownResponse = { id: 'resp_failed', model: null, createdAt: 0 };

/** Follows a stream that is passed on: what may be sent now, whether a comment may follow, and whether it is complete. */
export class StreamWatch {
  readonly #format: CallerFormat;
  readonly #start: StreamStart;
  readonly #lines: SseLines;
  readonly #mask: (bytes: Buffer) => Buffer;
  readonly #events = new WholeEvents();
  #ended = false;
  /** Whether the node has reported an error. */
  failed = false;
  /** Whether the previous line was an `event:` line. */
  #isNamed = false;
  /** Whether an event must be parsed to know its type: the type is neither its name nor the first member. */
  #mustParse = false;
  #lastPieces: Buffer[] = [];

  /** `mask` removes the node's credentials from its error events. */
  constructor(format: CallerFormat, start: StreamStart, mask: (bytes: Buffer) => Buffer) {
    this.#format = format;
    this.#start = start;
    this.#mask = mask;
    const typed = format === 'messages' || format === 'responses';
    this.#lines = new SseLines((start) => this.#read(start), typed ? undefined : mayEndChat);
  }

  /** Whether a comment may follow what was sent. */
  get atBoundary(): boolean {
    return this.#events.atBoundary;
  }

  /** Reads a piece and returns what may be sent to the caller now. */
  take(piece: Buffer): readonly Buffer[] {
    this.#lines.take(piece);
    if (this.#lastPieces.length === rememberedPieces) this.#lastPieces.shift();
    // A copy of the end of a large piece: a reference would keep all of it in memory.
    this.#lastPieces.push(
      piece.length > rememberedBytes ? Buffer.from(piece.subarray(-rememberedBytes)) : piece,
    );
    return this.#judged(this.#events.take(piece, this.#lines.boundary));
  }

  /** The rest of a stream that ended without a blank line. */
  rest(): readonly Buffer[] {
    return this.#judged(this.#events.rest());
  }

  /** Whether the stream has ended as its format says; if its bytes end before that, it failed. */
  get complete(): boolean {
    if (this.#ended || this.#format === 'messages' || this.#format === 'responses') return this.#ended;
    // Some servers end with `[DONE]` without a line end.
    return /^data: ?\[DONE\]$/m.test(this.#tail());
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

  #read(start: string): void {
    if (/^data: ?\[DONE\]/.test(start)) this.#ended = true;
    if (this.#format !== 'messages' && this.#format !== 'responses') return;
    const [, name, type] = /^(?:event: ?([\w.]+)|data: ?\{"type": ?"([\w.]+))/.exec(start) ?? [];
    const word = type ?? name;
    if (word === undefined && !this.#isNamed && start.startsWith('data:')) this.#mustParse = true;
    this.#isNamed = name !== undefined;
    if (word === undefined || !lastWords[this.#format].has(word)) return;
    this.#ended = true;
    if (word === 'error' || word === 'response.failed') this.failed = true;
  }

  /** Masks complete events if they report an error: a node's error may repeat the headers that it got. */
  #judged(pieces: readonly Buffer[]): readonly Buffer[] {
    const [first] = pieces;
    if (first === undefined) return pieces;
    const bytes = pieces.length === 1 ? first : Buffer.concat(pieces);
    if (!this.failed) {
      const isChat = this.#format !== 'messages' && this.#format !== 'responses';
      const text = bytes.toString('latin1');
      if (!this.#mustParse && !mayMatter.test(text)) return pieces;
      if (isChat && finish.test(text)) this.#ended = true;
      this.#mustParse = false;
      if (this.#areReadable(bytes)) return pieces;
    }
    return [this.#mask(bytes)];
  }

  /** Reads events that may report an error; false if one does, or cannot be read. */
  #areReadable(bytes: Buffer): boolean {
    let areReadable = true;
    for (const { name, data } of eventsIn(bytes)) {
      const isRead = isObject(parseJson(data));
      if (isRead && eventMeaning(this.#format, name, data) === 'error') this.failed = true;
      if (this.failed || (isRead && endsAnswer(this.#format, name, data))) this.#ended = true;
      if (this.failed || !(isRead || data.trim() === '[DONE]')) areReadable = false;
    }
    return areReadable;
  }
}

/**
 * Finds, in latin1, what may report an error or end an answer: `"error"` unless it is a member that is null, an event of
 * that name, a `finish_reason` that is a text, and an escaped ASCII letter, which no encoder writes by itself. In a model's
 * text the quotes of `"error"` are escaped. One expression without a leading quote: a second one, or the quote, would double
 * the cost for every piece.
 */
const mayMatter = /(?:error(?:"(?![ \t]*:[ \t]*null)|[\r\n])|finish_reason"[ \t]*:[ \t]*")|\\u00[67]/;
const finish = /"finish_reason"[ \t]*:[ \t]*"/;

/** Whether a line may be `data: [DONE]`. */
function mayEndChat(piece: Buffer, start: number): boolean {
  return piece[start + 5] === 0x5b || piece[start + 6] === 0x5b;
}
