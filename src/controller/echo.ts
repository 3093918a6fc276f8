import { isDeepStrictEqual } from 'node:util';
import type { Kind, ResourceOf } from '../store/store.ts';

/** How long a written status is believed before what the store shows: the write may have been undone by somebody. */
const longestMs = 30_000;

/**
 * Statuses that were written and that the store may not show yet, because its watch lags. Decided by the older one, a
 * sync that has just ended would be due again.
 */
export class Echo<R extends ResourceOf[Kind]> {
  readonly #now: () => number;
  readonly #written = new Map<string, { uid: string | undefined; status: R['status']; atMs: number }>();

  /** `now` gives milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The resource with the newest status that is known of it. */
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

  /** The oldest stand first. Without this, 100,000 keys looked at once would keep their statuses twice. */
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
