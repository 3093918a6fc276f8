import { freeBuffer } from '../runtime/node-internals.ts';
import { leaveBehind } from './young-collection.ts';

/** How many pieces are kept without a copy; nearly every body has fewer. */
const mostPieces = 16;
const blockBytes = 64 * 1024;

/**
 * Collects a body that arrives in pieces. The sender chooses their size, and a piece of one byte takes 400 bytes of memory
 * as a Buffer of its own. After the first few, pieces are therefore copied into blocks, and the memory used exceeds
 * `size` by at most 64 KiB.
 */
export class ByteBlocks {
  /** Bytes so far. */
  size = 0;
  /** The first pieces, then full blocks, and the block that is being filled as the last. */
  #held: Buffer[] = [];
  #block: Buffer | undefined;
  #filled = 0;

  /** Takes ownership of a piece: the caller must not change its memory. */
  add(piece: Buffer): void {
    this.size += piece.length;
    if (this.#block === undefined && this.#held.length < mostPieces) this.#held.push(piece);
    else this.#copy(piece);
  }

  /** Returns everything as one Buffer (a single piece is returned itself) and releases the pieces. */
  take(): Buffer {
    const [first = nothing] = this.#held;
    if (this.#held.length <= 1) {
      // Usually a slice of a socket's read buffer, so its memory cannot be freed explicitly.
      leaveBehind(first.buffer.byteLength);
      this.clear();
      return first;
    }
    const whole = Buffer.concat(this.#held, this.size);
    for (const piece of this.#held) freeBuffer(piece);
    this.clear();
    return whole;
  }

  /** All of it as it is held, for another thread to put together: `own` is the memory that nobody else uses. */
  takePieces(): {
    readonly pieces: readonly Uint8Array<ArrayBuffer>[];
    readonly own: readonly ArrayBuffer[];
  } {
    const pieces = this.#held as Buffer<ArrayBuffer>[];
    const own = pieces.slice(mostPieces).map(({ buffer }) => buffer);
    const last = pieces.at(-1);
    if (this.#block !== undefined && last !== undefined)
      pieces[pieces.length - 1] = last.subarray(0, this.#filled);
    this.clear();
    return { pieces, own };
  }

  clear(): void {
    this.#held = [];
    this.#block = undefined;
    this.size = 0;
  }

  #copy(piece: Buffer): void {
    let from = 0;
    while (from < piece.length) {
      if (this.#block === undefined || this.#filled === blockBytes) {
        this.#block = Buffer.allocUnsafeSlow(blockBytes);
        this.#filled = 0;
        this.#held.push(this.#block);
      }
      const copied = piece.copy(this.#block, this.#filled, from);
      this.#filled += copied;
      from += copied;
    }
  }
}

const nothing = Buffer.alloc(0);
