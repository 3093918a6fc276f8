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

/** Pieces remembered at the end of a stream. A finish reason is followed by at most a usage event and `[DONE]`. */
const rememberedPieces = 4;
const rememberedBytes = 4 * 1024;

const unknownResponse = { id: 'resp_failed', model: null, createdAt: 0 };

/** Follows a stream that is passed on: what of it may go out, what may be put behind that, and whether it may end here. */
export class StreamWatch {
  readonly #format: CallerFormat;
  readonly #start: StreamStart;
  readonly #lines: SseLines;
  readonly #mask: (bytes: Buffer) => Buffer;
  readonly #events = new WholeEvents();
  #ended = false;
  /** Whether the node has reported an error. */
  failed = false;
  /** Whether the line before named its event. */
  #isNamed = false;
  /** Whether the type of an event is neither in its name nor at its beginning, so that it has to be parsed. */
  #mustParse = false;
  #lastPieces: Buffer[] = [];

  /** `mask` takes the credentials of the node's connection out of what it says of an error. */
  constructor(format: CallerFormat, start: StreamStart, mask: (bytes: Buffer) => Buffer) {
    this.#format = format;
    this.#start = start;
    this.#mask = mask;
    const typed = format === 'messages' || format === 'responses';
    this.#lines = new SseLines((start) => this.#read(start), typed ? undefined : mayEndChat);
  }

  /** Whether a comment may be put behind what has gone out. */
  get atBoundary(): boolean {
    return this.#events.atBoundary;
  }

  /** Reads a piece; answers what may go to the caller now. */
  take(piece: Buffer): readonly Buffer[] {
    this.#lines.take(piece);
    if (this.#lastPieces.length === rememberedPieces) this.#lastPieces.shift();
    // A copy of what is kept from a large piece: the reference would keep the whole of it.
    this.#lastPieces.push(
      piece.length > rememberedBytes ? Buffer.from(piece.subarray(-rememberedBytes)) : piece,
    );
    return this.#judged(this.#events.take(piece, this.#lines.boundary));
  }

  /** What has not gone out of a stream that ended without a blank line. */
  rest(): readonly Buffer[] {
    return this.#judged(this.#events.rest());
  }

  /** Whether the stream has come to an end of its own: an end of the bytes before that is a failure. */
  get complete(): boolean {
    if (this.#ended || this.#format === 'messages' || this.#format === 'responses') return this.#ended;
    // Some end with `[DONE]` and no line end.
    return /^data: ?\[DONE\]$/m.test(this.#tail());
  }

  /** The end of a stream that broke, to be put behind what has gone out. */
  broken(error: GatewayError): string {
    const between = this.atBoundary ? '' : '\n\n';
    const soFar = { ...(this.#start.response ?? unknownResponse), sequence: this.#sequence() };
    return between + streamError(this.#format, error, soFar);
  }

  /** What the end of the stream tells of tokens. */
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

  /** What may go out of whole events: an error of the node's may repeat the headers that it was sent. */
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

  /** Reads events of which one may report an error; false where one does, or cannot be read. */
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
 * that name, a `finish_reason` that is a text, and an ASCII letter that is escaped, which no encoder does of itself. Text that a model
 * wrote has `\"error\"` at most. One expression, and no quotes at its beginning: each of them costs as much again for every piece.
 */
const mayMatter = /(?:error(?:"(?![ \t]*:[ \t]*null)|[\r\n])|finish_reason"[ \t]*:[ \t]*")|\\u00[67]/;
const finish = /"finish_reason"[ \t]*:[ \t]*"/;

/** Whether a line may be `data: [DONE]`: nearly none is. */
function mayEndChat(piece: Buffer, start: number): boolean {
  return piece[start + 5] === 0x5b || piece[start + 6] === 0x5b;
}
