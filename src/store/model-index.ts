import { servedNames } from './node-models.ts';
import type { Candidate, NodeEntry, ServedModel } from './store.ts';

/** Several nodes know one name; the answer is put together when next asked for. */
interface Shared {
  readonly byNode: Map<string, Candidate>;
  served: ServedModel | undefined;
}

/** One node is the common case of long lists, so it costs one small object; its answer is made when first asked for. */
type Slot = Candidate | ServedModel | Shared;

/** Which nodes know a name. The cost of a change depends on the names of the changed node alone. */
export class ModelIndex {
  readonly #slots = new Map<string, Slot>();

  /** Takes `after` in place of `before`; either may be absent. Both are the same node. */
  replace(before: NodeEntry | undefined, after: NodeEntry | undefined): void {
    const names = after === undefined ? undefined : servedNames(after.resource);
    if (before !== undefined) {
      for (const name of servedNames(before.resource).keys()) {
        if (names?.has(name) !== true) this.#remove(name, before.id);
      }
    }
    if (after === undefined || names === undefined) return;
    for (const [name, { model, enabled }] of names) this.#set(name, { node: after, model, enabled });
  }

  served(name: string): ServedModel | undefined {
    const slot = this.#slots.get(name);
    if (slot === undefined || 'candidates' in slot) return slot;
    if ('byNode' in slot) {
      slot.served ??= { name, candidates: [...slot.byNode.values()] };
      return slot.served;
    }
    const served = { name, candidates: [slot] };
    this.#slots.set(name, served);
    return served;
  }

  names(): Iterable<string> {
    return this.#slots.keys();
  }

  #set(name: string, candidate: Candidate): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) {
      this.#slots.set(name, candidate);
    } else if ('byNode' in slot) {
      slot.byNode.set(candidate.node.id, candidate);
      slot.served = undefined;
    } else {
      const other = only(slot);
      if (other === undefined || other.node.id === candidate.node.id) {
        this.#slots.set(name, candidate);
      } else {
        const byNode = new Map([
          [other.node.id, other],
          [candidate.node.id, candidate],
        ]);
        this.#slots.set(name, { byNode, served: undefined });
      }
    }
  }

  #remove(name: string, id: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    if (!('byNode' in slot)) {
      if (only(slot)?.node.id === id) this.#slots.delete(name);
      return;
    }
    slot.byNode.delete(id);
    slot.served = undefined;
    if (slot.byNode.size > 1) return;
    const [last] = slot.byNode.values();
    if (last === undefined) this.#slots.delete(name);
    else this.#slots.set(name, last);
  }
}

function only(slot: Candidate | ServedModel): Candidate | undefined {
  return 'candidates' in slot ? slot.candidates[0] : slot;
}
