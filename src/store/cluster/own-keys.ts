import type { ApiKey } from '../../resources/api-key.ts';
import { isAtLeast } from '../resource-version.ts';

/** How long a write is remembered: longer than a list may take, or an event of a watch that lags. */
const rememberMs = 60_000;

/**
 * The keys that this process created and deleted within the last minute. A watch or list may be older than these writes, and
 * must neither restore a deleted key nor remove a new one. `now` gives milliseconds from any origin.
 */
export class OwnKeys {
  readonly #now: () => number;
  readonly #made = new Map<string, { readonly key: ApiKey; readonly atMs: number }>();
  readonly #deleted = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  noteMade(key: ApiKey): void {
    this.#forgetOld();
    if (key.metadata.uid !== undefined) this.#made.set(key.metadata.uid, { key, atMs: this.#now() });
  }

  noteDeleted(uid: string): void {
    this.#forgetOld();
    this.#made.delete(uid);
    this.#deleted.set(uid, this.#now());
  }

  /** Forgets all writes, because a backup of the API server's data was restored and undid them. */
  forgetAll(): void {
    this.#made.clear();
    this.#deleted.clear();
  }

  isDeleted(uid: string | undefined): boolean {
    return uid !== undefined && this.#deleted.has(uid);
  }

  /** The keys, in one namespace or in all, that were created after a complete list of this version. */
  *newerThan(version: string, namespace: string | undefined): Iterable<ApiKey> {
    this.#forgetOld();
    for (const { key } of this.#made.values()) {
      const { namespace: place, resourceVersion = '' } = key.metadata;
      if (namespace !== undefined && place !== namespace) continue;
      // If a newer list does not have the key, somebody else deleted it.
      if (resourceVersion !== version && isAtLeast(resourceVersion, version)) yield key;
    }
  }

  #forgetOld(): void {
    const since = this.#now() - rememberMs;
    for (const [uid, { atMs }] of this.#made) if (atMs < since) this.#made.delete(uid);
    for (const [uid, atMs] of this.#deleted) if (atMs < since) this.#deleted.delete(uid);
  }
}
