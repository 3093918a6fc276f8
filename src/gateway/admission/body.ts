import type { IncomingMessage } from 'node:http';
import { freeBuffer } from '../../runtime/node-internals.ts';
import { type BatchedTask, runTogether } from '../../upstream/batches.ts';
import { ByteBlocks } from '../../upstream/byte-blocks.ts';
import { Deadline, type Deadlines } from '../../upstream/deadlines.ts';
import { type AssembledBody, PartedBody } from '../../upstream/request.ts';
import { CallerGone, stillThere } from '../answer/caller-gone.ts';
import { GatewayError } from '../errors/errors.ts';
import { guarded } from '../guard.ts';
import type { Limits } from '../limits.ts';
import { decode, isKnownEncoding } from '../thread/decode.ts';
import { type LargeWork, largeBytes } from '../thread/large-work.ts';
import type { BufferShare } from './buffer-budget.ts';
import { type Inspection, withModel } from './inspect.ts';

/** Encoded bodies up to this size are decoded at once; larger ones, and those of more than `largeBytes` decoded, in the thread. */
const mostEncoded = 64 * 1024;

/** A request body in memory. Call `release` when no further attempt can need it: a stream may run long after. */
export class RequestBody {
  /** In bytes. */
  readonly size: number;
  #bytes: Buffer;
  /** The pieces of a large body, which are joined in the thread. */
  #pieces: Pieces | undefined;
  #released = false;
  readonly #share: BufferShare;
  readonly #readers: { readonly sent: boolean }[] = [];

  constructor(body: Buffer | Pieces, size: number, share: BufferShare) {
    this.size = size;
    this.#bytes = Buffer.isBuffer(body) ? body : nothing;
    this.#pieces = Buffer.isBuffer(body) ? undefined : body;
    this.#share = share;
  }

  /** Returns the pieces of a large body, once, until it was inspected in the thread; undefined for others. */
  takePieces(): Pieces | undefined {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    return pieces;
  }

  /**
   * The bytes for the thread: the memory itself, which `putBack` returns, or a copy if other bodies share the memory or a
   * failed attempt still writes it to its node.
   */
  lendBytes(): Uint8Array<ArrayBuffer> {
    const { buffer } = this.#bytes;
    const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === this.#bytes.length;
    if (!isAlone || !this.#isSent) return new Uint8Array(this.#bytes);
    this.#bytes = nothing;
    return new Uint8Array(buffer);
  }

  /** Takes the memory back from the thread. */
  putBack(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#bytes.length > 0) return;
    this.#bytes = Buffer.from(bytes.buffer);
    if (this.#released) this.#free();
  }

  /** The whole body, joined from its pieces at the first call. Not available while the thread has the memory of a large body. */
  get bytes(): Buffer {
    const pieces = this.takePieces();
    if (pieces !== undefined) this.#bytes = Buffer.concat(pieces.pieces, this.size);
    return this.#bytes;
  }

  /** Notes that `reader` may read the bytes until it is `sent`. */
  lend(reader: { readonly sent: boolean }): void {
    this.#readers.push(reader);
  }

  /** The body with another model name; the rest of it is not copied. */
  named(name: string, inspection: Inspection): Buffer | AssembledBody {
    if (name === inspection.model) return this.#bytes;
    return new PartedBody(withModel(this.#bytes, inspection, name));
  }

  /** Lets the memory go. May be called twice. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#share.give(this.size);
    this.#free();
  }

  /** Whether no attempt still reads the bytes. */
  get #isSent(): boolean {
    return this.#readers.every(({ sent }) => sent);
  }

  #free(): void {
    if (this.#isSent) freeBuffer(this.#bytes);
    this.#bytes = nothing;
    this.#pieces = undefined;
  }
}

type Pieces = ReturnType<ByteBlocks['takePieces']>;

const nothing = Buffer.alloc(0);

/**
 * Reads a request body and undoes its `content-encoding`. Sizes are bounded before and after decoding, so that a
 * decompression bomb takes no more memory than a plain body. Throws GatewayError, or CallerGone if the caller left before the end.
 */
export function readBody(
  request: IncomingMessage,
  limits: Pick<Limits, 'bodyBytes' | 'bodyIdleMs' | 'bodyTotalMs'>,
  share: BufferShare,
  deadlines: Deadlines,
  work: LargeWork,
): Promise<RequestBody> {
  const encoding = encodingOf(request.headers['content-encoding']);
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return new Promise((resolve, reject) => {
    new BodyReading({ request, encoding, limits, share, deadlines, work, resolve, reject }).begin();
  });
}

interface ReadingOptions {
  readonly request: IncomingMessage;
  /** Undefined if it has none. */
  readonly encoding: string | undefined;
  readonly limits: Pick<Limits, 'bodyBytes' | 'bodyIdleMs' | 'bodyTotalMs'>;
  readonly share: BufferShare;
  readonly deadlines: Deadlines;
  readonly work: LargeWork;
  readonly resolve: (body: RequestBody) => void;
  readonly reject: (error: unknown) => void;
}

/** One body while it is being read. */
class BodyReading extends Deadline implements BatchedTask {
  readonly #options: ReadingOptions;
  readonly #blocks = new ByteBlocks();
  /** When it began, and when its last piece came, by `performance.now()`. */
  readonly #startedMs = performance.now();
  #cameMs = this.#startedMs;
  #over = false;

  constructor(options: ReadingOptions) {
    super();
    this.#options = options;
  }

  get owner(): string {
    return this.#options.share.owner;
  }

  /** A large one is inspected in the thread. */
  get weight(): number {
    return this.#blocks.size > largeBytes ? 0 : this.#blocks.size;
  }

  begin(): void {
    const { request, deadlines } = this.#options;
    deadlines.watch(this, this.#dueMs);
    request.on(
      'data',
      guarded(this, (piece: Buffer) => this.#take(piece)),
    );
    request.on(
      'end',
      guarded(this, () => this.#end()),
    );
    request.on('close', () => {
      if (!request.complete) this.failed(new CallerGone());
    });
  }

  /** The promise of the body must be rejected even if `#fail` throws. */
  failed(error: unknown): void {
    try {
      this.#fail(error);
    } finally {
      this.#options.reject(error);
    }
  }

  check(nowMs: number): number {
    const { bodyIdleMs, bodyTotalMs } = this.#options.limits;
    if (nowMs < this.#dueMs) return this.#dueMs;
    const isOverall = nowMs >= this.#startedMs + bodyTotalMs;
    this.#fail(isOverall ? tooSlow('was not complete', bodyTotalMs) : tooSlow('stood still', bodyIdleMs));
    return Number.POSITIVE_INFINITY;
  }

  get #dueMs(): number {
    const { bodyIdleMs, bodyTotalMs } = this.#options.limits;
    return Math.min(this.#cameMs + bodyIdleMs, this.#startedMs + bodyTotalMs);
  }

  #take(piece: Buffer): void {
    // Pieces after a failure are discarded.
    if (this.#over) return;
    const refusal = this.#refusal(piece.length);
    if (refusal !== undefined) {
      this.#fail(refusal);
      return;
    }
    this.#blocks.add(piece);
    this.#cameMs = performance.now();
  }

  /** Takes memory for a piece, or returns why there is none. */
  #refusal(bytes: number): GatewayError | undefined {
    const { limits, share } = this.#options;
    if (this.#blocks.size + bytes > limits.bodyBytes) return tooLarge(limits.bodyBytes);
    return share.take(bytes);
  }

  #end(): void {
    if (this.#over) return;
    this.#finish();
    runTogether(this);
  }

  runNow(): void {
    // The body is taken out of this object, because the listeners stay as long as the request, whose answer may be a stream of an hour.
    const { encoding, share, resolve } = this.#options;
    if (encoding !== undefined) {
      this.#decode(encoding).then(resolve, (error: unknown) => this.failed(error));
      return;
    }
    const { size } = this.#blocks;
    const body = size > largeBytes ? this.#blocks.takePieces() : this.#blocks.take();
    resolve(new RequestBody(body, size, share));
  }

  async #decode(encoding: string): Promise<RequestBody> {
    const { limits, share } = this.#options;
    const { size } = this.#blocks;
    const { pieces, own } = this.#blocks.takePieces();
    try {
      if (size <= mostEncoded) {
        const whole = new Uint8Array(Buffer.concat(pieces, size));
        const decoded = decode(encoding, whole, Math.min(largeBytes, limits.bodyBytes));
        if (decoded === 'invalid') return this.#bodyOf(decoded, undefined);
        if (decoded !== 'too large') return this.#bodyOf(decoded, share.take(decoded.length));
      }
      return await this.#decodeElsewhere(encoding, { pieces, own });
    } finally {
      share.give(size);
    }
  }

  /** In the thread. The memory for the decoded body is taken before it is needed: as much as the key may take. */
  async #decodeElsewhere(encoding: string, { pieces, own }: Pieces): Promise<RequestBody> {
    const { request, limits, share, work } = this.#options;
    const { socket } = request;
    let room: ReturnType<BufferShare['takeUpTo']> = { taken: 0, refused: undefined };
    let used = 0;
    try {
      const decoded = await work.run(
        'decode',
        { owner: share.owner, bytes: Number.POSITIVE_INFINITY },
        () => {
          stillThere({ gone: socket.destroyed });
          room = share.takeUpTo(limits.bodyBytes);
          if (room.taken === 0 && room.refused !== undefined) throw room.refused;
          return { wish: { pieces, encoding, most: room.taken }, transfer: own };
        },
      );
      if (decoded === 'too large') throw room.refused ?? tooLarge(limits.bodyBytes);
      const body = this.#bodyOf(decoded, undefined);
      used = body.size;
      return body;
    } finally {
      share.give(room.taken - used);
    }
  }

  /** `refused`: why there is no memory for it. */
  #bodyOf(decoded: Uint8Array<ArrayBuffer> | 'invalid', refused: GatewayError | undefined): RequestBody {
    if (decoded === 'invalid')
      throw new GatewayError('invalid_encoding', 'The request body does not match its content-encoding.');
    if (refused !== undefined) throw refused;
    const large = { pieces: [decoded], own: [decoded.buffer] };
    const small = Buffer.from(decoded.buffer, decoded.byteOffset, decoded.length);
    return new RequestBody(decoded.length > largeBytes ? large : small, decoded.length, this.#options.share);
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#finish();
    const { share, reject } = this.#options;
    share.give(this.#blocks.size);
    this.#blocks.clear();
    reject(error);
  }

  #finish(): void {
    this.#over = true;
    this.#options.deadlines.forget(this);
  }
}

function encodingOf(header: string | undefined): string | undefined {
  const name = header?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return undefined;
  if (isKnownEncoding(name)) return name;
  const message = 'The content-encoding is not supported; use one of gzip, deflate, br, zstd, or none.';
  throw new GatewayError('unsupported_media_type', message);
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${limit} bytes.`);
}

function tooSlow(what: string, ms: number): GatewayError {
  return new GatewayError('request_timeout', `The request body ${what} for ${ms / 1000} s.`);
}
