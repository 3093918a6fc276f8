import { Line } from '../line.ts';
import type { Urgency } from '../queue.ts';

/** Bounds of the contacts at one time: in all, and with one host. */
export interface ContactLimits {
  readonly inAll: number;
  readonly perHost: number;
}

/** The namespace that contacts, and the host that is contacted. Contacts with the same two share one lane. */
export interface Place {
  readonly namespace: string;
  readonly host: string;
}

interface Waiting {
  readonly run: () => Promise<void>;
  readonly isCancelled: () => boolean;
}

/** The contacts of one namespace with one host. */
interface Lane {
  running: number;
  readonly urgent: Line<Waiting>;
  readonly background: Line<Waiting>;
  waiting: number;
}

interface Namespace {
  running: number;
  /** By host; the host whose turn it is comes first. */
  readonly lanes: Map<string, Lane>;
}

/**
 * Limits the contacts with upstreams. The next contact is for the namespace with the fewest contacts under way, so that hanging
 * nodes of one team do not delay those of another, even at the same host. Within a namespace hosts take turns; within a host,
 * urgent contacts come first. A namespace has at most a quarter of the contacts with one host.
 */
export class Contacts {
  readonly #limits: ContactLimits;
  readonly #mostPerLane: number;
  readonly #observe: (inFlight: number) => void;
  /** The namespace whose turn it is comes first. */
  readonly #namespaces = new Map<string, Namespace>();
  readonly #runningByHost = new Map<string, number>();
  #running = 0;

  /** `observe` is called with the number of contacts under way when it changes. */
  constructor(limits: ContactLimits, observe: (inFlight: number) => void) {
    this.#limits = limits;
    this.#mostPerLane = Math.max(1, Math.floor(limits.perHost / 4));
    this.#observe = observe;
  }

  /** Calls `run`, which must not reject, when it is its turn; never if `signal` aborts before. */
  add({ namespace, host }: Place, urgency: Urgency, signal: AbortSignal, run: () => Promise<void>): void {
    const own = this.#namespaces.get(namespace) ?? { running: 0, lanes: new Map<string, Lane>() };
    this.#namespaces.set(namespace, own);
    const lane = own.lanes.get(host) ?? {
      ...{ running: 0, waiting: 0 },
      ...{ urgent: new Line<Waiting>(), background: new Line<Waiting>() },
    };
    own.lanes.set(host, lane);
    lane.waiting += 1;
    (urgency === 'Urgent' ? lane.urgent : lane.background).push({ run, isCancelled: () => signal.aborted });
    this.#fill();
  }

  #fill(): void {
    while (this.#running < this.#limits.inAll) {
      const place = this.#next();
      if (place === undefined) return;
      const own = this.#namespaces.get(place.namespace);
      const lane = own?.lanes.get(place.host);
      if (own === undefined || lane === undefined) return;
      const next = nextOf(lane);
      if (next === undefined) this.#drop(place, own, lane);
      else void this.#run(place, own, lane, next.run);
    }
  }

  /** The lane whose next contact may start now; undefined if there is none. */
  #next(): Place | undefined {
    let best: (Place & { running: number }) | undefined;
    for (const [namespace, { running, lanes }] of this.#namespaces) {
      if (best !== undefined && best.running <= running) continue;
      for (const [host, lane] of lanes) {
        if (lane.waiting === 0 || lane.running >= this.#mostPerLane) continue;
        if ((this.#runningByHost.get(host) ?? 0) >= this.#limits.perHost) continue;
        best = { namespace, host, running };
        break;
      }
    }
    return best;
  }

  async #run(place: Place, own: Namespace, lane: Lane, run: () => Promise<void>): Promise<void> {
    this.#change(place, own, lane, 1);
    this.#requeue(place, own, lane);
    try {
      await run();
    } finally {
      this.#change(place, own, lane, -1);
      this.#requeue(place, own, lane);
      this.#drop(place, own, lane);
      this.#fill();
    }
  }

  #change({ host }: Place, own: Namespace, lane: Lane, by: 1 | -1): void {
    own.running += by;
    lane.running += by;
    const running = (this.#runningByHost.get(host) ?? 0) + by;
    if (running === 0) this.#runningByHost.delete(host);
    else this.#runningByHost.set(host, running);
    this.#running += by;
    this.#observe(this.#running);
  }

  /** Moves a namespace, and the host within it, behind the others. */
  #requeue({ namespace, host }: Place, own: Namespace, lane: Lane): void {
    own.lanes.delete(host);
    own.lanes.set(host, lane);
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, own);
  }

  /** Forgets a lane and a namespace that have nothing to do. */
  #drop({ namespace, host }: Place, own: Namespace, lane: Lane): void {
    if (lane.running === 0 && lane.waiting === 0) own.lanes.delete(host);
    if (own.lanes.size === 0) this.#namespaces.delete(namespace);
  }
}

function nextOf(lane: Lane): Waiting | undefined {
  for (;;) {
    const next = lane.urgent.shift() ?? lane.background.shift();
    if (next === undefined) return undefined;
    lane.waiting -= 1;
    if (!next.isCancelled()) return next;
  }
}
