import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { freeBuffer } from '../../runtime/node-internals.ts';
import { type BatchedTask, runTogether } from '../../upstream/batches.ts';
import { ByteBlocks } from '../../upstream/byte-blocks.ts';
import { CallerGone } from '../answer/caller-gone.ts';
import { GatewayError } from '../errors/errors.ts';
import { guarded } from '../guard.ts';
import type { Limits } from '../limits.ts';
import { type BodyDeadlines, PendingBody } from './body-deadlines.ts';
import type { BufferShare } from './buffer-budget.ts';
import { type Inspection, withModel } from './inspect.ts';

/** RFC 9659: 8 MiB. By itself zstd takes up to 128 MiB when the caller's frame asks for it, beside the bound on bodies. */
const zstdWindowLog = 23;

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
};

/** A request body in memory. `release` once it is sent for good: a stream may run long after. */
export class RequestBody {
  #bytes: Buffer;
  readonly #share: BufferShare;
  readonly #readers: { readonly sent: boolean }[] = [];
  /** Bytes of the copy under another name. */
  #copied = 0;

  constructor(bytes: Buffer, share: BufferShare) {
    this.#bytes = bytes;
    this.#share = share;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Takes note that the bytes were given to somebody who may still read them while it is not `sent`. */
  lend(reader: { readonly sent: boolean }): void {
    this.#readers.push(reader);
  }

  /**
   * The body with another model name. Where that is a copy it takes as much of the key's share again, until the next one or
   * the release. Throws GatewayError where there is no room for it.
   */
  named(name: string, inspection: Inspection): Buffer {
    if (name === inspection.model) return this.#bytes;
    this.#share.give(this.#copied);
    this.#copied = 0;
    const refused = this.#share.take(this.#bytes.length);
    if (refused !== undefined) throw refused;
    this.#copied = this.#bytes.length;
    return withModel(this.#bytes, inspection, name);
  }

  /** Lets the memory go. May be called twice. */
  release(): void {
    this.#share.give(this.#bytes.length + this.#copied);
    this.#copied = 0;
    if (this.#readers.every(({ sent }) => sent)) freeBuffer(this.#bytes);
    this.#bytes = nothing;
  }
}

const nothing = Buffer.alloc(0);

/**
 * Reads a request body and undoes its `content-encoding`. Sizes are counted after decoding, piece by piece, so that
 * a decompression bomb never gets to unfold. Throws GatewayError, or CallerGone when the caller left before its end came.
 */
export function readBody(
  request: IncomingMessage,
  limits: Pick<Limits, 'bodyBytes' | 'bodyIdleMs' | 'bodyTotalMs'>,
  share: BufferShare,
  deadlines: BodyDeadlines,
): Promise<RequestBody> {
  const decoder = decoderOf(request.headers['content-encoding']);
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return new Promise((resolve, reject) => {
    new BodyReading({ request, decoder, limits, share, deadlines, resolve, reject }).begin();
  });
}

interface ReadingOptions {
  readonly request: IncomingMessage;
  readonly decoder: Transform | undefined;
  readonly limits: Pick<Limits, 'bodyBytes' | 'bodyIdleMs' | 'bodyTotalMs'>;
  readonly share: BufferShare;
  readonly deadlines: BodyDeadlines;
  readonly resolve: (body: RequestBody) => void;
  readonly reject: (error: unknown) => void;
}

/** One body while it is being read. */
class BodyReading extends PendingBody implements BatchedTask {
  readonly #options: ReadingOptions;
  readonly #blocks = new ByteBlocks();
  #over = false;

  constructor(options: ReadingOptions) {
    super();
    this.#options = options;
  }

  begin(): void {
    const { request, decoder, deadlines } = this.#options;
    deadlines.add(this);
    const source = decoder ?? request;
    source.on(
      'data',
      guarded(this, (piece: Buffer) => this.#take(piece)),
    );
    source.on(
      'end',
      guarded(this, () => this.#end()),
    );
    request.on('close', () => {
      if (!request.complete) this.failed(new CallerGone());
    });
    if (decoder === undefined) return;
    // A reset is followed by 'close'.
    request.on('error', ignore);
    decoder.on('error', () => {
      const message = 'The request body does not match its content-encoding.';
      this.#fail(new GatewayError('invalid_encoding', message));
    });
    request.pipe(decoder);
  }

  /** Not by `#fail` alone: what waits for the body must be told whatever else goes wrong. */
  failed(error: unknown): void {
    try {
      this.#fail(error);
    } finally {
      this.#options.reject(error);
    }
  }

  late(reason: 'idle' | 'total'): void {
    const { bodyIdleMs, bodyTotalMs } = this.#options.limits;
    this.#fail(
      reason === 'idle' ? tooSlow('stood still', bodyIdleMs) : tooSlow('was not complete', bodyTotalMs),
    );
  }

  #take(piece: Buffer): void {
    // What comes after a failure is thrown away.
    if (this.#over) return;
    const refusal = this.#refusal(piece.length);
    if (refusal !== undefined) {
      this.#fail(refusal);
      return;
    }
    this.#blocks.add(piece);
    this.moved = true;
  }

  /** Takes room for a piece, or says why there is none. */
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
    // Nothing of it stays here: the listeners live as long as the request, whose answer may be a stream of an hour.
    this.#options.resolve(new RequestBody(this.#blocks.take(), this.#options.share));
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#finish();
    const { request, decoder, share, reject } = this.#options;
    share.give(this.#blocks.size);
    this.#blocks.clear();
    if (decoder !== undefined) {
      request.unpipe(decoder);
      decoder.destroy();
    }
    reject(error);
  }

  #finish(): void {
    this.#over = true;
    this.#options.deadlines.remove(this);
  }
}

function ignore(): void {}

function decoderOf(encoding: string | undefined): Transform | undefined {
  if (encoding === undefined) return undefined;
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const create = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (create !== undefined) return create();
  const message = 'The content-encoding is not supported; use one of gzip, deflate, br, zstd, or none.';
  throw new GatewayError('unsupported_media_type', message);
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('request_too_large', `The request body is larger than ${limit} bytes.`);
}

function tooSlow(what: string, ms: number): GatewayError {
  return new GatewayError('request_timeout', `The request body ${what} for ${ms / 1000} s.`);
}
