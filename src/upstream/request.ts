import type { UpstreamPath } from './paths.ts';

/** A body that is composed in the send buffer, each time that it is sent. */
export interface AssembledBody {
  /** Length in bytes. */
  readonly length: number;
  /** Writes all of it to `target`, from `at` on. */
  writeTo(target: Buffer, at: number): void;
}

/** A large body that lies in several places, and is never put together. */
export class PartedBody implements AssembledBody {
  readonly length: number;
  readonly parts: readonly Uint8Array[];

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    this.length = parts.reduce((sum, { length }) => sum + length, 0);
  }

  writeTo(target: Buffer, at: number): void {
    let to = at;
    for (const part of this.parts) {
      target.set(part, to);
      to += part.length;
    }
  }
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
