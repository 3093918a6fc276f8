import type { NodeEntry } from '../../store/store.ts';
import type { ModelRequest } from '../admission/model-request.ts';
import type { Caller } from '../answer/caller.ts';
import type { Place } from './node-loads.ts';
import type { NodesContext } from './nodes-context.ts';
import type { TriedNodes } from './tried-nodes.ts';
import { patienceOf, waitForPlace } from './wait-for-place.ts';

/** The place of one request at the node that it is sent to, and its waiting for one where all nodes of a priority are full. */
export class Places {
  readonly #context: Pick<NodesContext, 'loads' | 'clock'>;
  readonly #caller: Caller;
  readonly #request: ModelRequest;
  readonly #tried: TriedNodes;
  #place: Place | undefined;
  /** Until when it waits at the nodes of this priority. */
  #untilMs: number | undefined;
  /** How long it has waited, in milliseconds. */
  waitedMs = 0;

  constructor(
    context: Pick<NodesContext, 'loads' | 'clock'>,
    caller: Caller,
    request: ModelRequest,
    tried: TriedNodes,
  ) {
    this.#context = context;
    this.#caller = caller;
    this.#request = request;
    this.#tried = tried;
  }

  /** Takes a place at a node that is not full, or where the request holds one already. */
  take(node: NodeEntry): Place | undefined {
    const isHeld = this.#tried.held === node.id;
    this.#tried.held = undefined;
    this.#untilMs = undefined;
    if (!isHeld) {
      this.leave();
      this.#place = this.#context.loads.enter(node);
    }
    return this.#place;
  }

  /** Leaves the place, if there is one. */
  leave(): void {
    this.#place?.leave();
    this.#place = undefined;
    this.#tried.held = undefined;
  }

  /** The answer has begun: its attempt leaves the place when it ends. */
  handOver(): void {
    this.#place = undefined;
  }

  /** Waits for a place at one of these nodes, and gives them up if there is none in time. Then the request chooses again. */
  async wait(full: readonly NodeEntry[]): Promise<'gone' | undefined> {
    const { loads, clock } = this.#context;
    this.leave();
    const began = clock();
    this.#untilMs ??= began + patienceOf(full);
    const result = await waitForPlace(loads, this.#caller, this.#request, full, this.#untilMs - began);
    this.waitedMs += clock() - began;
    if (typeof result === 'object') {
      this.#place = result;
      this.#tried.held = result.nodeId;
    } else if (result === 'refused') {
      this.#untilMs = undefined;
      this.#tried.givenUp ??= new Set();
      for (const { id } of full) this.#tried.givenUp.add(id);
      loads.refused(full);
    }
    return result === 'gone' || this.#caller.gone ? 'gone' : undefined;
  }
}
