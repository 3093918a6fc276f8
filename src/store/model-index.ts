import { type ServedName, servedNames, servesAlike } from './node-models.ts';
import type { Candidate, NodeEntry, ServedModel } from './store.ts';

/**
 * How a node serves a name. Nearly always it is the node's own model of that name, enabled, with the node's priority and
 * weight: that case needs no object of its own.
 */
type Server = NodeEntry | { readonly node: NodeEntry; readonly models: readonly ServedName[] };

/** A list up to `few` nodes: a map of ten takes five times the memory, and few nodes serve most names. */
type Slot = Server | Server[] | Map<string, Server>;

const few = 16;
/** The most cached answers. A list of all models looks up every name, which would otherwise leave 100 MB. */
const maxAnswers = 10_000;

/** Which nodes know a name. The cost of a change depends on the names of the changed node alone. */
export class ModelIndex {
  readonly #slots = new Map<string, Slot>();
  readonly #answers = new Map<string, ServedModel>();

  /** Replaces `before` by `after`, two versions of one node. Either may be absent. */
  replace(before: NodeEntry | undefined, after: NodeEntry | undefined): void {
    const names = after === undefined ? undefined : servedNames(after.resource);
    if (before !== undefined && !servesAlike(before.resource, after?.resource)) {
      for (const name of servedNames(before.resource).keys()) {
        if (names?.has(name) !== true) this.#remove(name, before.id);
      }
    }
    if (after === undefined || names === undefined) return;
    for (const [name, models] of names) {
      this.#set(name, after.id, isPlain(name, models) ? after : { node: after, models });
    }
  }

  served(name: string): ServedModel | undefined {
    const known = this.#answers.get(name);
    if (known !== undefined) return known;
    const slot = this.#slots.get(name);
    if (slot === undefined) return undefined;
    const served = { name, candidates: serversOf(slot).flatMap((server) => candidatesOf(server, name)) };
    if (this.#answers.size >= maxAnswers) this.#forgetOldest();
    this.#answers.set(name, served);
    return served;
  }

  names(): Iterable<string> {
    return this.#slots.keys();
  }

  #set(name: string, id: string, server: Server): void {
    this.#answers.delete(name);
    const slot = this.#slots.get(name);
    if (slot instanceof Map) {
      slot.set(id, server);
    } else if (Array.isArray(slot)) {
      const place = slot.findIndex((other) => nodeOf(other).id === id);
      if (place !== -1) slot[place] = server;
      else if (slot.length < few) this.#slots.set(name, [...slot, server]);
      else this.#slots.set(name, new Map([...slot, server].map((each) => [nodeOf(each).id, each])));
    } else {
      const isAlone = slot === undefined || nodeOf(slot).id === id;
      this.#slots.set(name, isAlone ? server : [slot, server]);
    }
  }

  #remove(name: string, id: string): void {
    this.#answers.delete(name);
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    if (slot instanceof Map) {
      slot.delete(id);
      if (slot.size >= few) return;
    }
    const others = serversOf(slot).filter((other) => nodeOf(other).id !== id);
    const [only] = others;
    if (only === undefined) this.#slots.delete(name);
    else this.#slots.set(name, others.length === 1 ? only : others);
  }

  #forgetOldest(): void {
    for (const name of this.#answers.keys()) {
      this.#answers.delete(name);
      return;
    }
  }
}

function serversOf(slot: Slot): readonly Server[] {
  if (slot instanceof Map) return [...slot.values()];
  return Array.isArray(slot) ? slot : [slot];
}

function nodeOf(server: Server): NodeEntry {
  return 'node' in server ? server.node : server;
}

function isPlain(name: string, models: readonly ServedName[]): boolean {
  const [first] = models;
  if (first === undefined || models.length > 1 || first.model !== name || !first.enabled) return false;
  return first.priority === undefined && first.weight === undefined;
}

function candidatesOf(server: Server, name: string): readonly Candidate[] {
  if (!('node' in server)) return [{ node: server, model: name, enabled: true }];
  const { node, models } = server;
  return models.map((served) => ({ node, ...served }));
}
