import type { LoadStates } from '../../routing/load-states.ts';
import type { NodeEntry } from '../../store/store.ts';
import { FairQueue, type KeyPriority } from './fair-queue.ts';
import { slotsOf } from './slot-share.ts';

/** One request under way at a node. */
export interface Place {
  readonly nodeId: string;
  /** The request has ended, however it ended. Only the first call counts. */
  leave(): void;
}

/** A request that waits for a place. */
export interface Waiter {
  readonly key: string;
  readonly priority: KeyPriority;
  /** It got a place, which it must leave; or the nodes have changed and it must choose again. Called at most once. */
  settle(place: Place | 'again'): void;
}

/** A node's requests, for the metrics. */
export interface NodeLoad {
  readonly node: string;
  readonly underWay: number;
  readonly waiting: number;
  /** Requests that found all places of the queue taken, or waited without success. */
  readonly refused: number;
}

/** The time over which the mean forgets: longer than most requests, so that the chance of single moments evens out. */
const meanMs = 30_000;

interface Load {
  readonly id: string;
  underWay: number;
  /** The mean of `underWay` up to `sinceMs`, recent times counting most. */
  mean: number;
  sinceMs: number;
  /** Infinity for a node without a bound. */
  slots: number;
  queue: FairQueue<Waiter> | undefined;
  refused: number;
}

/**
 * How many requests this gateway has under way at each node, and which requests wait for a node whose `spec.concurrency` is reached.
 * Nodes without a bound are counted from the moment when a choice of a node first depends on the counts, so that a gateway
 * without sessions does not pay for them.
 */
export class NodeLoads implements LoadStates {
  readonly #loads = new Map<string, Load>();
  readonly #clock: () => number;
  #counts = false;

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  underWay(nodeId: string): number {
    this.#counts = true;
    return this.#loads.get(nodeId)?.underWay ?? 0;
  }

  mean(nodeId: string): number {
    const load = this.#loads.get(nodeId);
    return load === undefined ? 0 : meanOf(load, this.#clock());
  }

  isFull({ id, resource }: NodeEntry): boolean {
    const { concurrency } = resource.spec;
    return concurrency !== undefined && (this.#loads.get(id)?.underWay ?? 0) >= slotsOf(concurrency);
  }

  /** Counts a request that is about to be sent to a node; undefined while nothing depends on the counts. */
  enter(node: NodeEntry): Place | undefined {
    if (!this.#counts && node.resource.spec.concurrency === undefined) return undefined;
    const load = this.#of(node);
    return this.#place(load);
  }

  /**
   * Lets a request wait for a place at one of these nodes, which are full. Returns a function that ends the waiting; undefined if the key
   * may not have a place in any of their queues.
   */
  wait(nodes: readonly NodeEntry[], waiter: Waiter): (() => void) | undefined {
    const joined: FairQueue<Waiter>[] = [];
    const leave = (): void => {
      for (const queue of joined) queue.remove(member, waiter.key, waiter.priority);
    };
    const member: Waiter = {
      ...waiter,
      settle: (place) => {
        leave();
        waiter.settle(place);
      },
    };
    for (const node of nodes) {
      const places = node.resource.spec.concurrency?.queue.maxRequests ?? 0;
      const load = this.#of(node);
      if (places === 0 || load.queue?.mayAdd(waiter.key, places) === false) continue;
      load.queue ??= new FairQueue();
      load.queue.add(member, waiter.key, waiter.priority);
      joined.push(load.queue);
    }
    return joined.length === 0 ? undefined : leave;
  }

  /** A request did not get a place at these nodes. */
  refused(nodes: readonly NodeEntry[]): void {
    for (const node of nodes) this.#of(node).refused += 1;
  }

  /** The node's spec has changed, or it was deleted: who waits for it chooses again. */
  changed(nodeId: string): void {
    for (const waiter of this.#loads.get(nodeId)?.queue?.takeAll() ?? []) waiter.settle('again');
  }

  /** The node was deleted. */
  forget(nodeId: string): void {
    this.changed(nodeId);
    this.#loads.delete(nodeId);
  }

  /** The loads of nodes that have a bound. */
  *bounded(nodes: Iterable<NodeEntry['resource']>): Iterable<NodeLoad> {
    for (const { metadata, spec } of nodes) {
      if (spec.concurrency === undefined) continue;
      const node = `${metadata.namespace}/${metadata.name}`;
      const { underWay = 0, queue, refused = 0 } = this.#loads.get(node) ?? {};
      yield { node, underWay, waiting: queue?.size ?? 0, refused };
    }
  }

  #of({ id, resource }: NodeEntry): Load {
    const { concurrency } = resource.spec;
    const slots = concurrency === undefined ? Number.POSITIVE_INFINITY : slotsOf(concurrency);
    const known = this.#loads.get(id);
    if (known !== undefined) {
      known.slots = slots;
      return known;
    }
    const load: Load = {
      ...{ id, underWay: 0, mean: 0, sinceMs: this.#clock(), slots },
      ...{ queue: undefined, refused: 0 },
    };
    this.#loads.set(id, load);
    return load;
  }

  #place(load: Load): Place {
    this.#add(load, 1);
    return new Counted(load.id, () => this.#left(load));
  }

  #left(load: Load): void {
    this.#add(load, -1);
    // The place goes to who waits before anybody else can find it free.
    while (load.underWay < load.slots) {
      const waiter = load.queue?.take();
      if (waiter === undefined) return;
      waiter.settle(this.#place(load));
    }
  }

  #add(load: Load, more: number): void {
    const now = this.#clock();
    load.mean = meanOf(load, now);
    load.sinceMs = now;
    load.underWay += more;
  }
}

class Counted implements Place {
  readonly nodeId: string;
  #left: (() => void) | undefined;

  constructor(nodeId: string, left: () => void) {
    this.nodeId = nodeId;
    this.#left = left;
  }

  leave(): void {
    const left = this.#left;
    this.#left = undefined;
    left?.();
  }
}

function meanOf({ underWay, mean, sinceMs }: Load, nowMs: number): number {
  return underWay + (mean - underWay) * Math.exp((sinceMs - nowMs) / meanMs);
}
