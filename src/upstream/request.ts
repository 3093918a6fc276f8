import type { UpstreamPath } from './paths.ts';

/** A body that is composed in the send buffer, each time that it is sent. */
export interface AssembledBody {
  /** Length in bytes. */
  readonly length: number;
  /** Writes all of it to `target`, from `at` on. */
  writeTo(target: Buffer, at: number): void;
}

/** One request to a model server. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  readonly path: UpstreamPath;
  /** Query without `?`. */
  readonly query?: string;
  /** Flat name, value list, from the caller by allowlist. */
  readonly headers: readonly string[];
  readonly body?: Uint8Array | AssembledBody;
}
