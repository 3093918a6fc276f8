import type { TokenUsage } from '../observe/request-record.ts';
import type { CallerFormat } from '../routing/caller-format.ts';
import { SseLines } from './sse-lines.ts';
import type { ResponseSoFar } from './stream-errors.ts';
import { readTokenUsage } from './token-usage.ts';

/** Pieces remembered at the end of a stream. A finish reason is followed by at most a usage event and `[DONE]`. */
const rememberedPieces = 4;
const rememberedBytes = 4 * 1024;

const lastWords: Readonly<Record<'messages' | 'responses', readonly string[]>> = {
  messages: ['message_stop', 'error'],
  responses: ['response.completed', 'response.incomplete', 'response.failed', 'error'],
};

/** Follows a stream that is passed on: whether a comment may be put behind it now, and whether it may end here. */
export class StreamWatch {
  readonly #format: CallerFormat;
  readonly #lines: SseLines;
  #ended = false;
  /** Whether the node has told of an error. */
  failed = false;
  #lastPieces: Buffer[] = [];

  constructor(format: CallerFormat) {
    this.#format = format;
    const typed = format === 'messages' || format === 'responses';
    this.#lines = new SseLines((start) => this.#read(start), typed ? undefined : mayEndChat);
  }

  get atBoundary(): boolean {
    return this.#lines.atBoundary;
  }

  take(piece: Buffer): void {
    this.#lines.take(piece);
    if (this.#lastPieces.length === rememberedPieces) this.#lastPieces.shift();
    // A copy of what is kept from a large piece: the reference would keep the whole of it.
    this.#lastPieces.push(
      piece.length > rememberedBytes ? Buffer.from(piece.subarray(-rememberedBytes)) : piece,
    );
  }

  /** Whether the stream has come to an end of its own: an end of the bytes before that is a failure. */
  get complete(): boolean {
    if (this.#ended || this.#format === 'messages' || this.#format === 'responses') return this.#ended;
    return /"finish_reason"\s*:\s*"/.test(this.#tail());
  }

  /** The last `sequence_number` of a responses stream. */
  get sequence(): ResponseSoFar['sequence'] {
    const numbers = [...this.#tail().matchAll(/"sequence_number"\s*:\s*(\d+)/g)];
    return Number(numbers.at(-1)?.[1] ?? -1);
  }

  /** What the end of the stream tells of tokens; `start` is the event that began a messages stream. */
  usage(start: Buffer | undefined): TokenUsage | undefined {
    return readTokenUsage(Buffer.concat(this.#lastPieces), start);
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
