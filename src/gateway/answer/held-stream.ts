import { objectOf, parseJson } from '../../convert/json.ts';
import { eventsIn } from '../../convert/sse-reader.ts';
import { SseSplitter } from '../../convert/sse-splitter.ts';
import type { CallerFormat } from '../../routing/caller-format.ts';
import { eventMeaning } from './event-meaning.ts';
import type { ResponseSoFar } from './stream-errors.ts';

/** Whether an answer is JSON rather than a stream, by its first byte that is not white space. */
export function beginsAsJson(piece: Buffer): boolean {
  const first = piece.find((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
  return first === 0x7b || first === 0x5b;
}

/** The values from the first events of a stream that are needed for its last events. */
export interface StreamStart {
  /** The first event of a Messages stream; it has the count of input tokens. */
  readonly message: Buffer | undefined;
  /** The response that a Responses stream belongs to. */
  readonly response: Omit<ResponseSoFar, 'sequence'> | undefined;
}

/** Most pieces that are held back: many small pieces cost as much memory as many bytes. */
const mostPieces = 1000;

/** The beginning of a stream, held back until its first content: until then another node can be tried. */
export class HeldStream {
  readonly pieces: Buffer[] = [];
  /** Whether an event had an `id:` line. */
  hasIds = false;
  /** The data of the error event that came before any content. */
  error: string | undefined;
  readonly #format: CallerFormat;
  readonly #limit: number;
  readonly #events = new SseSplitter();
  #size = 0;
  /** Whether an event has announced an answer. */
  #announced = false;
  #message: Buffer | undefined;
  #response: StreamStart['response'];

  /** `limit`: most bytes to hold. */
  constructor(format: CallerFormat, limit: number) {
    this.#format = format;
    this.#limit = limit;
  }

  get start(): StreamStart {
    return { message: this.#message, response: this.#response };
  }

  /** Returns `hold` to wait for more, `release` to pass everything on, or `error` if the stream began with one. */
  take(piece: Buffer): 'hold' | 'release' | 'error' {
    this.pieces.push(piece);
    this.#size += piece.length;
    for (const { event, data, hasId } of eventsIn(this.#events.take(piece))) {
      if (hasId) this.hasIds = true;
      const meaning = eventMeaning(this.#format, event, data);
      if (meaning === 'error') {
        this.error = data;
        return 'error';
      }
      if (meaning === 'content' || (meaning === 'end' && this.#announced)) return 'release';
      if (meaning === 'lifecycle') this.#announce(data);
    }
    return this.#size > this.#limit || this.pieces.length > mostPieces ? 'release' : 'hold';
  }

  #announce(data: string): void {
    this.#announced = true;
    if (this.#format === 'messages') this.#message ??= Buffer.from(data);
    if (this.#format === 'responses') this.#response = responseIn(data) ?? this.#response;
  }
}

function responseIn(data: string): StreamStart['response'] {
  const { id, model, created_at } = objectOf(objectOf(parseJson(data))['response']);
  if (typeof id !== 'string') return undefined;
  return {
    id,
    model: typeof model === 'string' ? model : null,
    createdAt: typeof created_at === 'number' ? created_at : 0,
  };
}
