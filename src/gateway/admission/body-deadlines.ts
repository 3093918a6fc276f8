/** A body that is being read, for BodyDeadlines; a link of its list, because a Set costs more than reading a short body. */
export abstract class PendingBody {
  /** Set by the reader for each piece. */
  moved = false;
  /** Set by BodyDeadlines. Times are of its clock. */
  startedMs = 0;
  stillSinceMs = 0;
  before: PendingBody | undefined;
  after: PendingBody | undefined;

  /** Called once when a deadline has passed. */
  abstract late(reason: 'idle' | 'total'): void;
  /** What `late` has thrown; must not throw. */
  abstract failed(error: unknown): void;
}

/**
 * Watches all bodies that are being read with one timer. Two timers for each body, set and cleared within a
 * millisecond, cost more than reading a short one.
 */
export class BodyDeadlines {
  #first: PendingBody | undefined;
  readonly #idleMs: number;
  readonly #totalMs: number;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout | undefined;

  /** `clock` is monotonic, in milliseconds. A deadline is noticed late by at most a quarter of the shorter one. */
  constructor(options: { idleMs: number; totalMs: number; clock: () => number }) {
    this.#idleMs = options.idleMs;
    this.#totalMs = options.totalMs;
    this.#clock = options.clock;
  }

  add(body: PendingBody): void {
    body.startedMs = this.#clock();
    body.stillSinceMs = body.startedMs;
    body.after = this.#first;
    if (this.#first !== undefined) this.#first.before = body;
    this.#first = body;
    this.#timer ??= setInterval(() => this.#check(), Math.min(this.#idleMs, this.#totalMs, 4000) / 4);
  }

  /** May be called twice. */
  remove(body: PendingBody): void {
    const { before, after } = body;
    if (before !== undefined) before.after = after;
    else if (this.#first === body) this.#first = after;
    if (after !== undefined) after.before = before;
    body.before = undefined;
    body.after = undefined;
  }

  #check(): void {
    if (this.#first === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.#clock();
    for (let body: PendingBody | undefined = this.#first; body !== undefined; ) {
      // `late` removes it from the list.
      const { after } = body as PendingBody;
      if (body.moved) {
        body.moved = false;
        body.stillSinceMs = now;
      }
      if (now - body.startedMs >= this.#totalMs) tell(body, 'total');
      else if (now - body.stillSinceMs >= this.#idleMs) tell(body, 'idle');
      body = after;
    }
  }
}

/** The others on the list must still be checked if one throws. */
function tell(body: PendingBody, reason: 'idle' | 'total'): void {
  try {
    body.late(reason);
  } catch (error) {
    body.failed(error);
  }
}
