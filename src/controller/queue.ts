import type { Clock } from './clock.ts';
import { Line } from './line.ts';

/** `Urgent`: somebody changed something. `Background`: the initial list, schedules and resyncs; behind every urgent key. */
export type Urgency = 'Urgent' | 'Background';

/** What the queue reports, so that it needs no metrics library. Times in seconds. */
export interface QueueObserver {
  added(): void;
  depth(keys: number): void;
  retried(): void;
  waited(seconds: number): void;
  worked(seconds: number): void;
}

/** Bounds of the wait after a failure: it doubles from `firstMs` up to `longestMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** One second doubling to five minutes (operator-conventions §8). */
const defaultBackoff: Backoff = { firstMs: 1_000, longestMs: 300_000 };

/**
 * A queue of keys after client-go's: a key waits once however often it is added, is never worked on twice at a time, and
 * when it was added while being worked on it comes again once afterwards. A key put off (`addAfter`, `retry`) keeps the
 * earliest of its times, and being worked on cancels it, because every reconcile computes its next time anew.
 */
export class Queue {
  readonly #clock: Clock;
  readonly #observer: QueueObserver;
  readonly #backoff: Backoff;
  readonly #urgent = new Line<string>();
  readonly #background = new Line<string>();
  /** Keys that wait, with their urgency and since when. A key moved to the urgent line stays in the other as a husk. */
  readonly #waiting = new Map<string, { urgency: Urgency; sinceMs: number }>();
  readonly #processing = new Map<string, number>();
  /** Added again while being worked on. */
  readonly #dirty = new Map<string, Urgency>();
  readonly #later = new Map<string, { dueMs: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #takers = new Line<(key: string | undefined) => void>();
  #closed = false;

  constructor(clock: Clock, observer: QueueObserver, backoff: Backoff = defaultBackoff) {
    this.#clock = clock;
    this.#observer = observer;
    this.#backoff = backoff;
  }

  /** Puts a key in the queue at once. */
  add(key: string, urgency: Urgency): void {
    if (this.#closed) return;
    this.#observer.added();
    if (this.#processing.has(key)) {
      if (this.#dirty.get(key) !== 'Urgent') this.#dirty.set(key, urgency);
      return;
    }
    this.#enqueue(key, urgency);
  }

  /** Puts a key in the queue after `ms`, behind the urgent ones. An earlier time that is already set stands. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    const dueMs = this.#clock.now() + ms;
    const set = this.#later.get(key);
    if (set !== undefined && set.dueMs <= dueMs) return;
    set?.cancel();
    const cancel = this.#clock.after(ms, () => {
      this.#later.delete(key);
      this.add(key, 'Background');
    });
    this.#later.set(key, { dueMs, cancel });
  }

  /** Puts a key that failed in the queue after its own wait, or after `leastMs` if that is longer. */
  retry(key: string, leastMs = 0): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#observer.retried();
    const wait = Math.min(this.#backoff.firstMs * 2 ** Math.min(failures, 30), this.#backoff.longestMs);
    this.addAfter(key, Math.max(wait, leastMs));
  }

  /** Forgets the failures of a key, so that its next wait is the shortest again. */
  forgive(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key; waits for one. Undefined once the queue is closed. Every key taken must be given back by `done`. */
  take(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#next();
    if (key !== undefined) return Promise.resolve(this.#start(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Ends the work on a key. It comes again if it was added meanwhile. */
  done(key: string): void {
    const since = this.#processing.get(key);
    if (since === undefined) return;
    this.#processing.delete(key);
    this.#observer.worked((this.#clock.now() - since) / 1_000);
    const again = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (again !== undefined && !this.#closed) this.#enqueue(key, again);
  }

  /** Lets every `take` answer undefined, now and later, and cancels what was put off. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    for (let taker = this.#takers.shift(); taker !== undefined; taker = this.#takers.shift())
      taker(undefined);
  }

  /** Since when each key is being worked on, in milliseconds since 1970. */
  startTimes(): Iterable<number> {
    return this.#processing.values();
  }

  #enqueue(key: string, urgency: Urgency): void {
    const waits = this.#waiting.get(key);
    if (waits !== undefined) {
      if (urgency === 'Background' || waits.urgency === 'Urgent') return;
      waits.urgency = 'Urgent';
    } else {
      this.#waiting.set(key, { urgency, sinceMs: this.#clock.now() });
    }
    (urgency === 'Urgent' ? this.#urgent : this.#background).push(key);
    this.#observer.depth(this.#waiting.size);
    const taker = this.#takers.shift();
    if (taker === undefined) return;
    const next = this.#next();
    if (next !== undefined) taker(this.#start(next));
  }

  #next(): string | undefined {
    const urgent = this.#urgent.shift();
    if (urgent !== undefined) return urgent;
    for (let key = this.#background.shift(); key !== undefined; key = this.#background.shift()) {
      if (this.#waiting.get(key)?.urgency === 'Background') return key;
    }
    return undefined;
  }

  #start(key: string): string {
    const now = this.#clock.now();
    this.#observer.waited((now - (this.#waiting.get(key)?.sinceMs ?? now)) / 1_000);
    this.#waiting.delete(key);
    this.#later.get(key)?.cancel();
    this.#later.delete(key);
    this.#processing.set(key, now);
    this.#observer.depth(this.#waiting.size);
    return key;
  }
}
