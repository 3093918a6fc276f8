import { freeBuffer } from '../runtime/node-internals.ts';
import { leaveBehind } from './young-collection.ts';

/** Pieces kept as they came; nearly every body has fewer, and is never copied before it is whole. */
const mostPieces = 16;
const blockBytes = 64 * 1024;

/**
 * Collects a body that comes in pieces. Whoever sends it chooses how small they are, and a piece of one byte costs 400
 * as a Buffer of its own: after the first few, pieces are copied into blocks. What is held then stays within 64 KiB of
 * `size`.
 */
export class ByteBlocks {
  /** Bytes so far. */
  size = 0;
  /** The first pieces, then full blocks, and the block that is being filled as the last. */
  #held: Buffer[] = [];
  #block: Buffer | undefined;
  #filled = 0;

  /** Takes a piece over; its memory must not be used again. */
  add(piece: Buffer): void {
    this.size += piece.length;
    if (this.#block === undefined && this.#held.length < mostPieces) this.#held.push(piece);
    else this.#copy(piece);
  }

  /** All of it as one Buffer; what came as one piece is that piece. Lets go of what it held. */
  take(): Buffer {
    const [first = nothing] = this.#held;
    if (this.#held.length <= 1) {
      // As a rule a part of what was read from the socket: nobody gives its memory back by hand.
      leaveBehind(first.buffer.byteLength);
      this.clear();
      return first;
    }
    const whole = Buffer.concat(this.#held, this.size);
    for (const piece of this.#held) freeBuffer(piece);
    this.clear();
    return whole;
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
