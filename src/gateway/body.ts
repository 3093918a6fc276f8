import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { ByteBlocks } from '../upstream/byte-blocks.ts';
import type { BodyDeadlines, PendingBody } from './body-deadlines.ts';
import type { BufferBudget } from './buffer-budget.ts';
import { CallerGone } from './caller-gone.ts';
import { GatewayError } from './errors.ts';
import type { Limits } from './limits.ts';

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** A request body in memory. `release` once it is sent for good: a stream may run long after. */
export class RequestBody {
  #bytes: Buffer;
  readonly #budget: BufferBudget;

  constructor(bytes: Buffer, budget: BufferBudget) {
    this.#bytes = bytes;
    this.#budget = budget;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Lets the memory go. May be called twice. */
  release(): void {
    this.#budget.give(this.#bytes.length);
    this.#bytes = nothing;
  }
}

const nothing = Buffer.alloc(0);

/**
 * Reads a request body and undoes its `content-encoding`. Sizes are counted after decoding, piece by piece, so that
 * a decompression bomb never gets to unfold. Throws GatewayError, or CallerGone when the caller left meanwhile.
 */
export function readBody(
  request: IncomingMessage,
  limits: Pick<Limits, 'bodyBytes' | 'bodyIdleMs' | 'bodyTotalMs'>,
  budget: BufferBudget,
  deadlines: BodyDeadlines,
): Promise<RequestBody> {
  const decoder = decoderOf(request.headers['content-encoding']);
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return new Promise((resolve, reject) => {
    const source = decoder === undefined ? request : decoder;
    const blocks = new ByteBlocks();
    const startedMs = deadlines.now;
    const pending: PendingBody = {
      startedMs,
      lastPieceMs: startedMs,
      late: (reason) =>
        fail(
          reason === 'idle'
            ? tooSlow('stood still', limits.bodyIdleMs)
            : tooSlow('was not complete', limits.bodyTotalMs),
        ),
    };

    const finish = (): void => {
      deadlines.remove(pending);
      source.off('data', onData);
      source.off('end', onEnd);
      request.off('close', onClose);
    };
    const fail = (error: Error): void => {
      finish();
      budget.give(blocks.size);
      blocks.clear();
      if (decoder !== undefined) {
        request.unpipe(decoder);
        decoder.destroy();
      }
      reject(error);
    };
    const onData = (piece: Buffer) => {
      if (blocks.size + piece.length > limits.bodyBytes) return fail(tooLarge(limits.bodyBytes));
      if (!budget.take(piece.length)) {
        return fail(new GatewayError('gateway_busy', 'Too many large requests at once; try again shortly.'));
      }
      blocks.add(piece);
      pending.lastPieceMs = deadlines.now;
    };
    const onEnd = (): void => {
      finish();
      resolve(new RequestBody(blocks.take(), budget));
    };
    const onClose = (): void => {
      if (!request.complete) fail(new CallerGone());
    };

    deadlines.add(pending);
    source.on('data', onData);
    source.on('end', onEnd);
    request.on('close', onClose);
    // A reset is followed by 'close'; without a listener it would end the process.
    request.on('error', ignore);
    if (decoder === undefined) return;
    decoder.on('error', () => {
      fail(new GatewayError('invalid_encoding', 'The request body does not match its content-encoding.'));
    });
    request.pipe(decoder);
  });
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
