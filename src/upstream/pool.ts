import type { Connect } from './connect.ts';
import { UpstreamError } from './error.ts';
import { Slot } from './slot.ts';

/** Unused connections kept to one node; more are closed when their request ends. */
const maxIdle = 512;

/** What is counted of a node's connections, however often its pool is replaced. */
export interface ConnectionCounts {
  /** Requests that were sent again on a fresh connection, because the used one had ended. */
  replays: number;
}

export interface PoolOptions {
  readonly connect: Connect;
  /** How long the next connection is used, in milliseconds. */
  readonly lifeMs: () => number;
  readonly counts: ConnectionCounts;
  /** Told when there are connections again: from then on `sweep` is to be called, until it says that there are none. */
  readonly onOpen: (pool: Pool) => void;
}

/**
 * The connections to one model server: as many as there are requests in flight. Idle ones are used in turns, so that all
 * replicas behind one address get work; each is used for a limited time, so that new replicas get some soon.
 */
export class Pool {
  readonly counts: ConnectionCounts;
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  /** The one that has been idle longest first. */
  readonly #idle: Slot[] = [];
  /** When one of the requests may have taken too long. To look at all each time was half of what thousands of silent streams cost. */
  #checkAtMs = Number.POSITIVE_INFINITY;
  #closing = false;
  readonly #waiting: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.counts = options.counts;
  }

  /** Connections that stand or are being opened. */
  get size(): number {
    return this.#slots.size;
  }

  /**
   * A connection for one request; the caller gives it back by `release` or `discard`. `checkAtMs`: when the request may have
   * taken too long. Both are times of `performance.now`.
   */
  acquire(nowMs: number, checkAtMs: number): Slot {
    if (checkAtMs < this.#checkAtMs) this.#checkAtMs = checkAtMs;
    for (;;) {
      const slot = this.#idle.shift();
      if (slot === undefined) return this.acquireFresh();
      if (slot.usable(nowMs)) return slot;
      this.discard(slot);
    }
  }

  /** A connection that has served nobody yet. */
  acquireFresh(): Slot {
    const { connect, lifeMs, onOpen } = this.#options;
    const slot = new Slot(connect, lifeMs(), this.#onDisconnect);
    this.#slots.add(slot);
    if (this.#slots.size === 1) onOpen(this);
    return slot;
  }

  /** The request was answered in full: the connection may serve another. */
  release(slot: Slot): void {
    if (this.#closing || this.#idle.length >= maxIdle || !slot.reusable) this.discard(slot);
    else {
      slot.rest();
      this.#idle.push(slot);
    }
  }

  /** Ends the connection at once. */
  discard(slot: Slot): void {
    slot.destroy(() => {
      this.#slots.delete(slot);
      if (this.#slots.size === 0) for (const done of this.#waiting.splice(0)) done();
    });
  }

  /** Resolves when the last request in flight has ended; one that was routed here just before still runs. */
  close(): Promise<void> {
    this.#closing = true;
    for (const slot of this.#idle.splice(0)) this.discard(slot);
    return this.#slots.size === 0 ? Promise.resolve() : new Promise((done) => this.#waiting.push(done));
  }

  /** Ends every connection; requests in flight fail with `reset`. */
  destroy(): Promise<void> {
    this.#closing = true;
    this.#idle.length = 0;
    for (const slot of this.#slots) {
      slot.user?.onLost(new UpstreamError('reset', false));
      this.discard(slot);
    }
    return this.close();
  }

  /**
   * Ends what took too long by `nowMs`, a time of `performance.now`. Timers for each request, set and cleared again, would
   * cost more than looking at all. False when there are no connections.
   */
  sweep(nowMs: number): boolean {
    if (nowMs >= this.#checkAtMs) this.#checkAtMs = this.#checkTimes(nowMs);
    for (const slot of this.#idle.slice()) {
      if (slot.idleUntilMs === 0) slot.idleUntilMs = nowMs + slot.restMs;
      if (nowMs >= slot.idleUntilMs || !slot.usable(nowMs)) this.#forget(slot);
    }
    return this.#slots.size > 0;
  }

  #checkTimes(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { user } of this.#slots) {
      if (user === undefined) continue;
      try {
        nextMs = Math.min(nextMs, user.checkTime(nowMs));
      } catch (error) {
        user.onFault(error);
      }
    }
    return nextMs;
  }

  readonly #onDisconnect = (slot: Slot): void => this.#forget(slot);

  #forget(slot: Slot): void {
    const index = this.#idle.indexOf(slot);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.discard(slot);
  }
}
