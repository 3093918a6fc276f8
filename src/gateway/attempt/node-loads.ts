import type { LoadStates } from '../../routing/load-states.ts';

/** One request under way at a node. */
export interface Place {
  /** The request has ended, however it ended. Only the first call counts. */
  leave(): void;
}

/** The time over which the mean forgets: longer than most requests, so that the chance of single moments evens out. */
const meanMs = 30_000;

interface Load {
  underWay: number;
  /** The mean of `underWay` up to `sinceMs`, recent times counting most. */
  mean: number;
  sinceMs: number;
}

/**
 * How many requests this gateway has under way at each node. It counts from the moment when a choice of a node first depends on
 * the counts, so that a gateway without sessions does not pay for them.
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

  /** Counts a request that is about to be sent to a node; undefined while nothing depends on the counts. */
  enter(nodeId: string): Place | undefined {
    if (!this.#counts) return undefined;
    let load = this.#loads.get(nodeId);
    if (load === undefined) {
      load = { underWay: 0, mean: 0, sinceMs: this.#clock() };
      this.#loads.set(nodeId, load);
    }
    return new Counted(load, this.#clock);
  }

  /** The node was deleted. */
  forget(nodeId: string): void {
    this.#loads.delete(nodeId);
  }
}

class Counted implements Place {
  readonly #load: Load;
  readonly #clock: () => number;
  #left = false;

  constructor(load: Load, clock: () => number) {
    this.#load = load;
    this.#clock = clock;
    add(load, 1, clock());
  }

  leave(): void {
    if (this.#left) return;
    this.#left = true;
    add(this.#load, -1, this.#clock());
  }
}

function add(load: Load, more: number, nowMs: number): void {
  load.mean = meanOf(load, nowMs);
  load.sinceMs = nowMs;
  load.underWay += more;
}

function meanOf({ underWay, mean, sinceMs }: Load, nowMs: number): number {
  return underWay + (mean - underWay) * Math.exp((sinceMs - nowMs) / meanMs);
}
