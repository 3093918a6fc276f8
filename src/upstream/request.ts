import type { UpstreamPath } from './paths.ts';

/** One request to a model server. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly path: UpstreamPath;
  /** Query without `?`. */
  readonly query?: string;
  /** Flat name, value list, from the caller by allowlist. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array;
}
