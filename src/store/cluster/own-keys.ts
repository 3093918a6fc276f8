import type { ApiKey } from '../../resources/api-key.ts';

/** How long a write is remembered: longer than a list may take, or an event of a watch that lags. */
const rememberMs = 60_000;

/**
 * The keys that this process made and deleted a moment ago. Watches and lists may be older than that, and must neither
 * bring a deleted key back nor take a new one away. `now` in milliseconds of any origin.
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

  /** What was written here is undone: an older state of the API server's data is in place. */
  forgetAll(): void {
    this.#made.clear();
    this.#deleted.clear();
  }

  isDeleted(uid: string | undefined): boolean {
    return uid !== undefined && this.#deleted.has(uid);
  }

  /** The keys that a complete list of that version is too old for, in one namespace or in all. */
  *newerThan(version: string, namespace: string | undefined): Iterable<ApiKey> {
    this.#forgetOld();
    for (const { key } of this.#made.values()) {
      const { namespace: place, resourceVersion = '' } = key.metadata;
      if (namespace !== undefined && place !== namespace) continue;
      // What a newer list does not hold was deleted by another.
      if (isNewer(resourceVersion, version)) yield key;
    }
  }

  #forgetOld(): void {
    const since = this.#now() - rememberMs;
    for (const [uid, { atMs }] of this.#made) if (atMs < since) this.#made.delete(uid);
    for (const [uid, atMs] of this.#deleted) if (atMs < since) this.#deleted.delete(uid);
  }
}

/** Versions of one kind are numbers that grow (KEP-5504); of others nothing is known, and the list counts. */
function isNewer(a: string, b: string): boolean {
  if (!/^\d{1,20}$/.test(a) || !/^\d{1,20}$/.test(b)) return false;
  return BigInt(a) > BigInt(b);
}
