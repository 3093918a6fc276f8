/** A queue of items of several owners, who get their turns one after the other, however many items each has. */
export class Turns<T> {
  /** By owner, in the order of their next turns; an owner without items is not in it. */
  readonly #queues = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  add(owner: string, item: T): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, [item]);
    else queue.push(item);
  }

  /** Removes and returns the first item of the next owner; undefined if there is none. */
  next(): T | undefined {
    for (const [owner, queue] of this.#queues) {
      const item = queue.shift();
      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue);
      return item;
    }
    return undefined;
  }
}
