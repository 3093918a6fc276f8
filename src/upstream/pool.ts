import type { Connect } from './connect.ts';
import type { Deadlines } from './deadlines.ts';
import { UpstreamError } from './error.ts';
import { Slot } from './slot.ts';

/** Most idle connections kept to one node; further ones are closed when their request ends. */
const maxIdle = 512;

/** A node's counts, which continue when its pool is replaced. */
export interface ConnectionCounts {
  /** Requests that were sent again on a fresh connection because the node had closed the reused one. */
  replays: number;
}

export interface PoolOptions {
  readonly connect: Connect;
  /** Returns the lifetime of the next connection, in milliseconds. */
  readonly lifeMs: () => number;
  readonly counts: ConnectionCounts;
  /** Where requests and idle connections are watched. */
  readonly deadlines: Deadlines;
}

/**
 * The connections to one model server: as many as there are requests in flight. Idle connections are used in rotation, so that
 * all replicas behind one address get work. Each has a limited lifetime, so that new replicas soon get work too.
 */
export class Pool {
  readonly counts: ConnectionCounts;
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  /** The connection that has been idle longest comes first. */
  readonly #idle: Slot[] = [];
  #closing = false;
  readonly #waiting: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.counts = options.counts;
  }

  /** Connections that are open or being opened. */
  get size(): number {
    return this.#slots.size;
  }

  /**
   * Returns a connection for one request; the caller returns it by `release` or `discard`. `checkAtMs`: when the request may
   * time out. Both times are those of `performance.now`.
   */
  acquire(nowMs: number, checkAtMs: number): Slot {
    for (;;) {
      const slot = this.#idle.shift();
      if (slot === undefined) return this.acquireFresh(checkAtMs);
      if (slot.usable(nowMs)) {
        this.#options.deadlines.watch(slot, checkAtMs);
        return slot;
      }
      this.discard(slot);
    }
  }

  /** Returns a connection that has served no request yet. */
  acquireFresh(checkAtMs: number): Slot {
    const { connect, lifeMs, deadlines } = this.#options;
    const slot = new Slot(connect, lifeMs(), deadlines, this.#forget);
    this.#slots.add(slot);
    deadlines.watch(slot, checkAtMs);
    return slot;
  }

  /** The request was answered completely at `nowMs`: the connection may be reused. */
  release(slot: Slot, nowMs: number): void {
    if (this.#closing || this.#idle.length >= maxIdle || !slot.reusable) this.discard(slot);
    else {
      slot.rest(nowMs);
      this.#idle.push(slot);
    }
  }

  /** Closes the connection immediately. */
  discard(slot: Slot): void {
    slot.destroy(() => {
      this.#slots.delete(slot);
      if (this.#slots.size === 0) for (const done of this.#waiting.splice(0)) done();
    });
  }

  /** Resolves when the last request in flight has ended. A request that was routed here just before is still served. */
  close(): Promise<void> {
    this.#closing = true;
    for (const slot of this.#idle.splice(0)) this.discard(slot);
    return this.#slots.size === 0 ? Promise.resolve() : new Promise((done) => this.#waiting.push(done));
  }

  /** Closes every connection; requests in flight fail with `reset`. */
  destroy(): Promise<void> {
    this.#closing = true;
    this.#idle.length = 0;
    for (const slot of this.#slots) {
      slot.user?.onLost(new UpstreamError('reset', false));
      this.discard(slot);
    }
    return this.close();
  }

  readonly #forget = (slot: Slot): void => {
    const index = this.#idle.indexOf(slot);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.discard(slot);
  };
}
