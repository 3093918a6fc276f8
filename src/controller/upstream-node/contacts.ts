import { Line } from '../line.ts';
import type { Urgency } from '../queue.ts';

interface Waiting {
  readonly run: () => Promise<void>;
  readonly isCancelled: () => boolean;
}

interface Host {
  busy: boolean;
  /** Whether it is in the queue of hosts that can start. */
  queued: boolean;
  readonly urgent: Line<Waiting>;
  readonly background: Line<Waiting>;
  waiting: number;
}

/**
 * Limits the contacts with upstreams: one at a time for each host, and a maximum in all. Hosts take turns, so that a slow
 * host does not delay the nodes of others; within a host, urgent contacts come first.
 */
export class Contacts {
  readonly #most: number;
  readonly #observe: (inFlight: number) => void;
  readonly #hosts = new Map<string, Host>();
  /** Hosts without a contact under way that have one waiting. */
  readonly #free = new Line<string>();
  #running = 0;

  /** `most`: contacts at one time. `observe` is called with their number when it changes. */
  constructor(most: number, observe: (inFlight: number) => void) {
    this.#most = most;
    this.#observe = observe;
  }

  /** Calls `run`, which must not reject, when its host has its turn; never if `signal` aborts before. */
  add(host: string, urgency: Urgency, signal: AbortSignal, run: () => Promise<void>): void {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      entry = { busy: false, queued: false, urgent: new Line(), background: new Line(), waiting: 0 };
      this.#hosts.set(host, entry);
    }
    entry.waiting += 1;
    (urgency === 'Urgent' ? entry.urgent : entry.background).push({ run, isCancelled: () => signal.aborted });
    this.#offer(host, entry);
    this.#fill();
  }

  #offer(host: string, entry: Host): void {
    if (entry.busy || entry.queued) return;
    entry.queued = true;
    this.#free.push(host);
  }

  #fill(): void {
    while (this.#running < this.#most) {
      const host = this.#free.shift();
      if (host === undefined) return;
      const entry = this.#hosts.get(host);
      if (entry === undefined) continue;
      entry.queued = false;
      const next = nextOf(entry);
      if (next === undefined) this.#hosts.delete(host);
      else void this.#run(host, entry, next.run);
    }
  }

  async #run(host: string, entry: Host, run: () => Promise<void>): Promise<void> {
    entry.busy = true;
    this.#running += 1;
    this.#observe(this.#running);
    try {
      await run();
    } finally {
      entry.busy = false;
      this.#running -= 1;
      this.#observe(this.#running);
      if (entry.waiting > 0) this.#offer(host, entry);
      else this.#hosts.delete(host);
      this.#fill();
    }
  }
}

function nextOf(entry: Host): Waiting | undefined {
  for (;;) {
    const next = entry.urgent.shift() ?? entry.background.shift();
    if (next === undefined) return undefined;
    entry.waiting -= 1;
    if (!next.isCancelled()) return next;
  }
}
