import { isDeepStrictEqual } from 'node:util';
import type { Kind, ResourceOf } from '../store/store.ts';

/** How long a written status counts as newer than the store's: another writer may have changed it since. */
const longestMs = 30_000;

/**
 * Statuses that were written and that the store may not show yet, because its watch lags. With the older status, a sync that
 * has just ended would be due again.
 */
export class Echo<R extends ResourceOf[Kind]> {
  readonly #now: () => number;
  readonly #written = new Map<string, { uid: string | undefined; status: R['status']; atMs: number }>();

  /** `now` gives milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The resource with its newest known status. */
  newest(resource: R): R {
    const id = idOf(resource);
    const written = this.#written.get(id);
    if (written === undefined) return resource;
    const isOver =
      written.uid !== resource.metadata.uid ||
      this.#now() - written.atMs > longestMs ||
      isDeepStrictEqual(resource.status, written.status);
    if (!isOver) return { ...resource, status: written.status };
    this.#written.delete(id);
    return resource;
  }

  /** Remembers a status that was written, unless the store (`shown`) has it already. */
  wrote(resource: R, status: R['status'], shown: R | undefined): void {
    const id = idOf(resource);
    const { uid } = resource.metadata;
    this.#written.delete(id);
    if (shown?.metadata.uid === uid && isDeepStrictEqual(shown?.status, status)) return;
    this.#dropOld();
    this.#written.set(id, { uid, status, atMs: this.#now() });
  }

  /** Forgets what was written to `namespace/name`. */
  forget(id: string): void {
    this.#written.delete(id);
  }

  /** Removes the oldest entries first. Without this, the statuses of 100,000 keys would be kept twice. */
  #dropOld(): void {
    for (const [id, { atMs }] of this.#written) {
      if (this.#now() - atMs <= longestMs) return;
      this.#written.delete(id);
    }
  }
}

function idOf({ metadata }: ResourceOf[Kind]): string {
  return `${metadata.namespace}/${metadata.name}`;
}
