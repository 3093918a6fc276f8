/** A body that is being read, as the deadlines see it. Times are of the clock given to BodyDeadlines. */
export interface PendingBody {
  readonly startedMs: number;
  lastPieceMs: number;
  /** Told once when a deadline has passed. */
  late(reason: 'idle' | 'total'): void;
}

/**
 * Watches all bodies that are being read with one timer. Two timers for each body, set and cleared within a
 * millisecond, cost more than reading a short one.
 */
export class BodyDeadlines {
  readonly #pending = new Set<PendingBody>();
  readonly #idleMs: number;
  readonly #totalMs: number;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout | undefined;

  /** `clock` is monotonic, in milliseconds. A deadline is noticed up to a quarter of the shorter one late. */
  constructor(options: { idleMs: number; totalMs: number; clock: () => number }) {
    this.#idleMs = options.idleMs;
    this.#totalMs = options.totalMs;
    this.#clock = options.clock;
  }

  get now(): number {
    return this.#clock();
  }

  add(body: PendingBody): void {
    this.#pending.add(body);
    this.#timer ??= setInterval(() => this.#check(), Math.min(this.#idleMs, this.#totalMs, 4000) / 4);
  }

  remove(body: PendingBody): void {
    this.#pending.delete(body);
  }

  #check(): void {
    if (this.#pending.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.#clock();
    for (const body of this.#pending) {
      if (now - body.startedMs >= this.#totalMs) body.late('total');
      else if (now - body.lastPieceMs >= this.#idleMs) body.late('idle');
    }
  }
}
