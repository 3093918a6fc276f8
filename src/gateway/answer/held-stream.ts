import { objectOf, parseJson } from '../../convert/json.ts';
import type { CallerFormat } from '../../routing/caller-format.ts';
import { eventMeaning } from './event-meaning.ts';
import { SseEvents } from './sse-events.ts';
import type { ResponseSoFar } from './stream-errors.ts';

/** Whether an answer is a JSON text rather than a stream: the first byte that says something tells. */
export function beginsAsJson(piece: Buffer): boolean {
  const first = piece.find((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
  return first === 0x7b || first === 0x5b;
}

/** What the announcement of a stream told that its end is told with. */
export interface StreamStart {
  /** The event that began a messages stream, which tells of the input's tokens. */
  readonly message: Buffer | undefined;
  /** What a responses stream is the stream of. */
  readonly response: Omit<ResponseSoFar, 'sequence'> | undefined;
}

/** Pieces, above which a beginning is held no longer: many pieces are as dear as many bytes. */
const mostPieces = 1000;

/** The beginning of a stream, held back until its first content: until then another node can still answer unseen. */
export class HeldStream {
  readonly pieces: Buffer[] = [];
  /** Whether an event had an `id:` line. */
  hasIds = false;
  /** The data (latin1) of the error event that came before any content. */
  error: string | undefined;
  readonly #format: CallerFormat;
  readonly #limit: number;
  readonly #events = new SseEvents();
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

  /** `hold` on, `release` everything to the caller, or the stream began with an `error`. */
  take(piece: Buffer): 'hold' | 'release' | 'error' {
    this.pieces.push(piece);
    this.#size += piece.length;
    for (const { name, data, hasId } of this.#events.take(piece)) {
      if (hasId) this.hasIds = true;
      const meaning = eventMeaning(this.#format, name, data);
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
    if (this.#format === 'messages') this.#message ??= Buffer.from(data, 'latin1');
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
