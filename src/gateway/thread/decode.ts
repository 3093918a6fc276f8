import { brotliDecompressSync, constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** RFC 9659: 8 MiB. Without it zstd takes up to 128 MiB if the caller's frame asks for it, outside the bound on bodies. */
const zstdWindowLog = 23;

/** Undoes an encoding; throws before more than `maxOutputLength` bytes are decoded. */
type Decode = (bytes: Uint8Array, bound: { readonly maxOutputLength: number }) => Uint8Array<ArrayBuffer>;

const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
  [
    'zstd',
    (bytes, bound) =>
      zstdDecompressSync(bytes, { ...bound, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
  ],
]);

/** Whether a `content-encoding`, in lower case, can be undone. */
export function isKnownEncoding(encoding: string): boolean {
  return decoders.has(encoding);
}

/** The decoded body; `invalid` if it does not have this encoding, `too large` if it has more than `most` bytes. */
export function decode(
  encoding: string,
  bytes: Uint8Array,
  most: number,
): Uint8Array<ArrayBuffer> | 'invalid' | 'too large' {
  if (bytes.length === 0) return new Uint8Array();
  try {
    return decoders.get(encoding)?.(bytes, { maxOutputLength: most }) ?? 'invalid';
  } catch (error) {
    return isTooLarge(error) ? 'too large' : 'invalid';
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
