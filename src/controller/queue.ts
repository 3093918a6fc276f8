import type { Clock } from './clock.ts';
import { Line } from './line.ts';

/** `Urgent`: a person or program changed something. `Background`: the initial list, schedules, retries and resyncs; one for every eight urgent ids. */
export type Urgency = 'Urgent' | 'Background';

/** What the queue reports, so that it needs no metrics library. Times in seconds. */
export interface QueueObserver {
  added(): void;
  depth(ids: number): void;
  retried(): void;
  waited(seconds: number): void;
  worked(seconds: number): void;
}

/** Bounds of the wait after a failure: it doubles from `firstMs` up to `longestMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** After this many urgent ids in a row one background id is taken, so that retries continue while people make many changes. */
const urgentInARow = 8;

/** One second doubling to five minutes. */
const defaultBackoff: Backoff = { firstMs: 1_000, longestMs: 300_000 };

/**
 * A queue of ids (`namespace/name`) that works as client-go's workqueue. An id waits once, however often it is added. It is
 * never in work twice at the same time; if it is added while it is in work, it comes once more afterwards. A delayed id
 * (`addAfter`, `retry`) keeps the earliest of its times. Taking it cancels the delay, because every reconcile computes its
 * next time again.
 */
export class Queue {
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  readonly #backoff: Backoff;
  readonly #urgent = new Line<string>();
  readonly #background = new Line<string>();
  /** Ids that wait, with their urgency and since when. An id that became urgent stays in the other line too, and is skipped there. */
  readonly #waiting = new Map<string, { urgency: Urgency; sinceMs: number }>();
  readonly #processing = new Map<string, number>();
  /** Ids that were added while they were in work. */
  readonly #dirty = new Map<string, Urgency>();
  readonly #later = new Map<string, { dueMs: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #takers = new Line<(id: string | undefined) => void>();
  #urgentTaken = 0;
  #closed = false;

  constructor(clock: Clock, observer: QueueObserver, backoff: Backoff = defaultBackoff) {
    this.#clock = clock;
    this.#observer = observer;
    this.#backoff = backoff;
  }

  /** Puts an id in the queue at once. */
  add(id: string, urgency: Urgency): void {
    if (this.#closed) return;
    this.#observer.added();
    if (this.#processing.has(id)) {
      if (this.#dirty.get(id) !== 'Urgent') this.#dirty.set(id, urgency);
      return;
    }
    this.#enqueue(id, urgency);
  }

  /** Adds an id after `ms`, behind the urgent ones. An earlier time that is already set is kept. */
  addAfter(id: string, ms: number): void {
    if (this.#closed) return;
    const dueMs = this.#clock.now() + ms;
    const set = this.#later.get(id);
    if (set !== undefined && set.dueMs <= dueMs) return;
    set?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#later.delete(id);
      this.add(id, 'Background');
    });
    this.#later.set(id, { dueMs, cancel });
  }

  /** Adds an id that failed after its backoff, or after `leastMs` if that is longer. */
  retry(id: string, leastMs = 0): void {
    const failures = this.#failures.get(id) ?? 0;
    this.#failures.set(id, failures + 1);
    this.#observer.retried();
    const wait = Math.min(this.#backoff.firstMs * 2 ** Math.min(failures, 30), this.#backoff.longestMs);
    this.addAfter(id, Math.max(wait, leastMs));
  }

  /** Forgets the failures of an id, so that its next wait is the shortest again. */
  forgive(id: string): void {
    this.#failures.delete(id);
  }

  /** Waits for the next id. Resolves with undefined once the queue is closed. `done` must be called for every id. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const id = this.#next();
    if (id !== undefined) return Promise.resolve(this.#start(id));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Ends the work on an id. If it was added in the meantime, it comes again. */
  done(id: string): void {
    const since = this.#processing.get(id);
    if (since === undefined) return;
    this.#processing.delete(id);
    this.#observer.worked((this.#clock.now() - since) / 1_000);
    const again = this.#dirty.get(id);
    this.#dirty.delete(id);
    if (again !== undefined && !this.#closed) this.#enqueue(id, again);
  }

  /** Makes every `take` resolve with undefined, now and later, and cancels delayed ids. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    for (let taker = this.#takers.shift(); taker !== undefined; taker = this.#takers.shift())
      taker(undefined);
  }

  /** Since when each id is in work, in milliseconds since 1970. */
  startTimes(): Iterable<number> {
    return this.#processing.values();
  }

  #enqueue(id: string, urgency: Urgency): void {
    const waits = this.#waiting.get(id);
    if (waits !== undefined) {
      if (urgency === 'Background' || waits.urgency === 'Urgent') return;
      waits.urgency = 'Urgent';
    } else {
      this.#waiting.set(id, { urgency, sinceMs: this.#clock.now() });
    }
    (urgency === 'Urgent' ? this.#urgent : this.#background).push(id);
    this.#observer.depth(this.#waiting.size);
    const taker = this.#takers.shift();
    if (taker === undefined) return;
    const next = this.#next();
    if (next !== undefined) taker(this.#start(next));
  }

  #next(): string | undefined {
    if (this.#urgentTaken < urgentInARow) {
      const urgent = this.#urgent.shift();
      if (urgent !== undefined) {
        this.#urgentTaken += 1;
        return urgent;
      }
    }
    this.#urgentTaken = 0;
    for (let id = this.#background.shift(); id !== undefined; id = this.#background.shift()) {
      if (this.#waiting.get(id)?.urgency === 'Background') return id;
    }
    return this.#urgent.shift();
  }

  #start(id: string): string {
    const now = this.#clock.now();
    this.#observer.waited((now - (this.#waiting.get(id)?.sinceMs ?? now)) / 1_000);
    this.#waiting.delete(id);
    this.#later.get(id)?.cancel();
    this.#later.delete(id);
    this.#processing.set(id, now);
    this.#observer.depth(this.#waiting.size);
    return id;
  }
}
