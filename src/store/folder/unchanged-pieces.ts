import type { Breathe, Piece } from './piece.ts';

/** How far ahead the next piece is looked for in step before all that are left are put into a map. */
const near = 16;

/**
 * Finds for each document of a new reading the piece of the old one with the same digest. Most changes touch one place,
 * so the two are walked through in step; only after larger ones what is left is looked up. Each piece is found once.
 */
export class UnchangedPieces {
  readonly #old: readonly Piece[];
  #next = 0;
  #misses = 0;
  #left: Map<string, number> | undefined;

  constructor(old: readonly Piece[]) {
    this.#old = old;
  }

  async find(digest: string, breathe: Breathe): Promise<Piece | undefined> {
    const nearest = this.#findNear(digest);
    if (nearest !== undefined) {
      this.#misses = 0;
      return nearest;
    }
    this.#misses += 1;
    if (this.#next >= this.#old.length || this.#misses <= near) return undefined;
    this.#left ??= await this.#map(breathe);
    const index = this.#left.get(digest);
    if (index === undefined || index < this.#next) return undefined;
    this.#next = index + 1;
    this.#misses = 0;
    return this.#old[index];
  }

  #findNear(digest: string): Piece | undefined {
    for (let index = this.#next; index < this.#next + near; index += 1) {
      const piece = this.#old[index];
      if (piece?.digest !== digest) continue;
      this.#next = index + 1;
      return piece;
    }
    return undefined;
  }

  async #map(breathe: Breathe): Promise<Map<string, number>> {
    const map = new Map<string, number>();
    for (let index = this.#old.length - 1; index >= this.#next; index -= 1) {
      if (index % 256 === 0) await breathe();
      map.set(this.#old[index]?.digest ?? '', index);
    }
    return map;
  }
}
