import type { TokenUsage } from '../observe/request-record.ts';
import type { CallerFormat } from '../routing/caller-format.ts';
import type { GatewayError } from './errors.ts';
import type { StreamStart } from './held-stream.ts';
import { SseLines } from './sse-lines.ts';
import { type ResponseSoFar, streamError } from './stream-errors.ts';
import { readTokenUsage } from './token-usage.ts';
import { WholeEvents } from './whole-events.ts';

/** Pieces remembered at the end of a stream. A finish reason is followed by at most a usage event and `[DONE]`. */
const rememberedPieces = 4;
const rememberedBytes = 4 * 1024;

const lastWords: Readonly<Record<'messages' | 'responses', readonly string[]>> = {
  messages: ['message_stop', 'error'],
  responses: ['response.completed', 'response.incomplete', 'response.failed', 'error'],
};

const unknownResponse = { id: 'resp_failed', model: null, createdAt: 0 };

/** Follows a stream that is passed on: what of it may go out, what may be put behind that, and whether it may end here. */
export class StreamWatch {
  readonly #format: CallerFormat;
  readonly #start: StreamStart;
  readonly #lines: SseLines;
  readonly #events = new WholeEvents();
  #ended = false;
  /** Whether the node has told of an error. */
  failed = false;
  #lastPieces: Buffer[] = [];

  constructor(format: CallerFormat, start: StreamStart) {
    this.#format = format;
    this.#start = start;
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
    return this.#events.take(piece, this.#lines.boundary);
  }

  /** What has not gone out of a stream that ended without a blank line. */
  rest(): readonly Buffer[] {
    return this.#events.rest();
  }

  /** Whether the stream has come to an end of its own: an end of the bytes before that is a failure. */
  get complete(): boolean {
    if (this.#ended || this.#format === 'messages' || this.#format === 'responses') return this.#ended;
    // Some end with `[DONE]` and no line end.
    return /"finish_reason"\s*:\s*"|^data: ?\[DONE\]$/m.test(this.#tail());
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
    else if (this.#format === 'messages' || this.#format === 'responses') {
      const word = /^(?:event: ?|data: ?\{"type": ?")([a-z_.]+)/.exec(start)?.[1];
      if (word === undefined || !lastWords[this.#format].includes(word)) return;
      this.#ended = true;
      if (word === 'error' || word === 'response.failed') this.failed = true;
    } else if (/^data: ?\{"error":/.test(start)) {
      this.#ended = true;
      this.failed = true;
    }
  }
}

/** Whether a line may be `data: [DONE]` or `data: {"error"…`: nearly none is, and each chunk has one. */
function mayEndChat(piece: Buffer, start: number): boolean {
  const at = piece[start + 5] === 0x20 ? start + 6 : start + 5;
  return piece[at] === 0x5b || (piece[at] === 0x7b && piece[at + 2] === 0x65);
}
