/** The order of keys: those of a higher priority first. */
export const keyPriorities = ['High', 'Normal', 'Low'] as const;
export type KeyPriority = (typeof keyPriorities)[number];

/** The part of the places that is reserved for keys that hold less than their share. */
const reservedPart = 1 / 4;

/**
 * What waits, by the priority of its key, and in turns among the keys of one priority: a key with a thousand waiting does not keep a key
 * with one waiting. Adding, removing and taking cost the same however many wait.
 */
export class FairQueue<T> {
  /** What waits by key, in the order of the turns; one map for each priority. A key that has nothing waiting is not in it. */
  readonly #keys = new Map(keyPriorities.map((priority) => [priority, new Map<string, Set<T>>()]));
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /**
   * Whether `key` may have another of `places`. While more than a quarter of them is free, any key may; below that only a key
   * that holds less than an equal share of those that hold some.
   */
  mayAdd(key: string, places: number): boolean {
    if (this.#size >= places) return false;
    if (places - this.#size > places * reservedPart) return true;
    let own = 0;
    let holders = 0;
    for (const keys of this.#keys.values()) {
      own += keys.get(key)?.size ?? 0;
      holders += keys.size;
    }
    return own * (own === 0 ? holders + 1 : holders) < this.#size;
  }

  add(item: T, key: string, priority: KeyPriority): void {
    const keys = this.#keys.get(priority);
    const items = keys?.get(key);
    if (items === undefined) keys?.set(key, new Set([item]));
    else items.add(item);
    this.#size += 1;
  }

  /** Removes an item that was added with this key and priority; one that has left already is ignored. */
  remove(item: T, key: string, priority: KeyPriority): void {
    const keys = this.#keys.get(priority);
    const items = keys?.get(key);
    if (items?.delete(item) !== true) return;
    this.#size -= 1;
    if (items.size === 0) keys?.delete(key);
  }

  /** Removes and returns what is next; undefined if nothing waits. */
  take(): T | undefined {
    for (const keys of this.#keys.values()) {
      for (const [key, items] of keys) {
        for (const item of items) {
          items.delete(item);
          this.#size -= 1;
          // The others come before this key again.
          keys.delete(key);
          if (items.size > 0) keys.set(key, items);
          return item;
        }
      }
    }
    return undefined;
  }

  /** Removes and returns everything. */
  takeAll(): T[] {
    const all: T[] = [];
    for (let item = this.take(); item !== undefined; item = this.take()) all.push(item);
    return all;
  }
}
