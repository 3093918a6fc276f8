import { GatewayError } from '../errors/errors.ts';

/** The part of the memory that is reserved for keys that hold less than their share. */
const reservedPart = 1 / 4;

/** What one key may take of a BufferBudget. */
export interface BufferShare {
  /** The key's id, which no other key has. */
  readonly owner: string;
  /** Takes all `bytes`, or none and returns the error for the caller. */
  take(bytes: number): GatewayError | undefined;
  /** Takes as many bytes as the key may have, up to `bytes`. `refused`: why it may not have more. */
  takeUpTo(bytes: number): { readonly taken: number; readonly refused: GatewayError | undefined };
  /** Gives back what was taken. */
  give(bytes: number): void;
}

/**
 * Counts the bytes of all bodies in memory, by key, so that their sum stays within a bound and one key cannot keep the
 * others out. While more than a quarter of the memory is free, any key may take more. Below that
 * only a key that holds less than an equal share of those that hold some. The cost does not grow with the number of keys.
 */
export class BufferBudget {
  readonly #limit: number;
  readonly #reserved: number;
  /** Bytes by key; a key that holds nothing is not in it. */
  readonly #held = new Map<string, number>();
  #used = 0;

  /** `limit` is in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
    this.#reserved = limit * reservedPart;
  }

  /** Bytes that all keys hold. */
  get used(): number {
    return this.#used;
  }

  /** The share of a key, by an id that no other key has. */
  of(key: string): BufferShare {
    return {
      owner: key,
      take: (bytes) => this.#take(key, bytes),
      takeUpTo: (bytes) => this.#takeUpTo(key, bytes),
      give: (bytes) => this.#give(key, bytes),
    };
  }

  #take(key: string, bytes: number): GatewayError | undefined {
    if (bytes === 0) return undefined;
    if (bytes <= this.#limit - this.#reserved - this.#used || this.#isBelowShare(key)) {
      if (this.#used + bytes > this.#limit) return full();
      this.#held.set(key, (this.#held.get(key) ?? 0) + bytes);
      this.#used += bytes;
      return undefined;
    }
    return overShare();
  }

  #takeUpTo(key: string, bytes: number): ReturnType<BufferShare['takeUpTo']> {
    const refused = this.#take(key, bytes);
    if (refused === undefined) return { taken: bytes, refused };
    const limit = this.#isBelowShare(key) ? this.#limit : this.#limit - this.#reserved;
    const taken = Math.min(bytes, Math.max(0, limit - this.#used));
    this.#take(key, taken);
    return { taken, refused };
  }

  /** Whether a key holds less than its share now. The new body does not count: otherwise one larger than the share could never be read. */
  #isBelowShare(key: string): boolean {
    const own = this.#held.get(key) ?? 0;
    const holders = this.#held.size + (own === 0 ? 1 : 0);
    return own * holders < this.#used;
  }

  #give(key: string, bytes: number): void {
    if (bytes === 0) return;
    this.#used -= bytes;
    const left = (this.#held.get(key) ?? 0) - bytes;
    if (left > 0) this.#held.set(key, left);
    else this.#held.delete(key);
  }
}

function overShare(): GatewayError {
  return new GatewayError(
    'key_share_exceeded',
    'This key holds its share of the memory for large requests and answers; try again when some of them have ended.',
  );
}

function full(): GatewayError {
  return new GatewayError(
    'gateway_busy',
    'The memory for large requests and answers is used up; try again shortly.',
  );
}
