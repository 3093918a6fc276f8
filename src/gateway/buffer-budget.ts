/** Counts the bytes of all request bodies in memory, so that their sum stays within a bound. */
export class BufferBudget {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes `bytes` of the budget, or answers false when they no longer fit. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false;
    this.#used += bytes;
    return true;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#used -= bytes;
  }
}
