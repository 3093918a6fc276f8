import type { Connect } from './connect.ts';
import { Slot, type Timed } from './slot.ts';

/** Unused connections kept to one node; more are closed when their request ends. */
const maxIdle = 512;
/** How late a total timeout may be noticed. */
const sweepMs = 100;

/**
 * The connections to one model server: as many as there are requests in flight, the one used last reused
 * first. undici's own Pool searches all its clients for each request, and does not say whether a socket was
 * reused.
 */
export class Pool {
  readonly #origin: string;
  readonly #connect: Connect;
  readonly #slots = new Set<Slot>();
  readonly #idle: Slot[] = [];
  #closing = false;
  #sweeper: NodeJS.Timeout | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(origin: string, connect: Connect) {
    this.#origin = origin;
    this.#connect = connect;
  }

  /** Connections that stand or are being opened. */
  get size(): number {
    return this.#slots.size;
  }

  /** A connection for one request; the caller gives it back by `release` or `discard`. */
  acquire(exchange: Timed): Slot {
    for (;;) {
      const slot = this.#idle.pop();
      if (slot === undefined) return this.acquireFresh(exchange);
      if (slot.usable) return this.#begin(slot, exchange);
      this.discard(slot);
    }
  }

  /** A connection that has served nobody yet. */
  acquireFresh(exchange: Timed): Slot {
    const slot = new Slot(this.#origin, this.#connect, this.#onDisconnect);
    this.#slots.add(slot);
    return this.#begin(slot, exchange);
  }

  /** The request was answered in full: the connection may serve another. */
  release(slot: Slot): void {
    slot.served += 1;
    if (this.#closing || this.#idle.length >= maxIdle) this.discard(slot);
    else this.#idle.push(slot);
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
    for (const slot of this.#slots) this.discard(slot);
    return this.close();
  }

  #begin(slot: Slot, exchange: Timed): Slot {
    slot.exchange = exchange;
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs).unref();
    return slot;
  }

  /** Ends what took too long. A timer for each request, set and cleared again, would cost more than looking at all. */
  #sweep(): void {
    const now = performance.now();
    let busy = false;
    for (const { exchange } of this.#slots) {
      if (exchange === undefined) continue;
      busy = true;
      if (now >= exchange.deadlineMs) exchange.totalTimeout();
    }
    if (busy) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  readonly #onDisconnect = (slot: Slot): void => {
    const index = this.#idle.indexOf(slot);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.discard(slot);
  };
}
