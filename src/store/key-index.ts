import type { ApiKey } from '../resources/api-key.ts';
import type { MasterKey } from '../resources/master-key.ts';
import { timeOf } from '../resources/time.ts';
import type { KeyEntry } from './store.ts';

type Key = ApiKey | MasterKey;

/** Several resources that claim one hash. They are sorted at the next look-up of the hash. */
interface Contest {
  readonly claimants: Map<string, Key>;
  order: readonly Key[] | undefined;
  entry: KeyEntry | undefined;
}

/** Nearly every hash has one claimant, so it is in the map itself; its entry is made when it is first looked up. */
type Claim = Key | KeyEntry | Contest;

/** Which key resource owns a hash. The cost of a change depends on the changed key alone. */
export class KeyIndex {
  readonly #claims = new Map<string, Claim>();

  /** Replaces `before` by `after`, two versions of one resource. Either may be absent. */
  replace(before: Key | undefined, after: Key | undefined): void {
    const hashes = after === undefined ? [] : claimedHashes(after);
    if (before !== undefined) {
      for (const hash of claimedHashes(before)) {
        if (!hashes.includes(hash)) this.#remove(hash, before);
      }
    }
    if (after === undefined) return;
    for (const hash of hashes) this.#set(hash, after);
  }

  /** The key that owns a hash: the oldest resource that claims it. */
  owner(hash: string): KeyEntry | undefined {
    const claim = this.#claims.get(hash);
    if (claim === undefined) return undefined;
    if ('resource' in claim) return claim;
    if ('claimants' in claim) {
      const [oldest] = inOrder(claim);
      if (oldest !== undefined) claim.entry ??= keyEntry(oldest, hash);
      return claim.entry;
    }
    const entry = keyEntry(claim, hash);
    this.#claims.set(hash, entry);
    return entry;
  }

  /** The resources that claim a hash, the owner first. */
  claims(hash: string): readonly Key[] {
    const claim = this.#claims.get(hash);
    if (claim === undefined) return [];
    if ('claimants' in claim) return inOrder(claim);
    return ['resource' in claim ? claim.resource : claim];
  }

  #set(hash: string, key: Key): void {
    const claim = this.#claims.get(hash);
    if (claim === undefined) {
      this.#claims.set(hash, key);
    } else if ('claimants' in claim) {
      claim.claimants.set(idOf(key), key);
      claim.order = undefined;
      claim.entry = undefined;
    } else {
      const other = 'resource' in claim ? claim.resource : claim;
      if (idOf(other) === idOf(key)) {
        this.#claims.set(hash, key);
      } else {
        const claimants = new Map([
          [idOf(other), other],
          [idOf(key), key],
        ]);
        this.#claims.set(hash, { claimants, order: undefined, entry: undefined });
      }
    }
  }

  #remove(hash: string, key: Key): void {
    const claim = this.#claims.get(hash);
    if (claim === undefined) return;
    if (!('claimants' in claim)) {
      const owner = 'resource' in claim ? claim.resource : claim;
      if (idOf(owner) === idOf(key)) this.#claims.delete(hash);
      return;
    }
    claim.claimants.delete(idOf(key));
    claim.order = undefined;
    claim.entry = undefined;
    const [only, ...others] = claim.claimants.size === 1 ? claim.claimants.values() : [];
    if (only !== undefined && others.length === 0) this.#claims.set(hash, only);
  }
}

/**
 * The hashes that a key resource claims: the spec's own, and those of the keys issued for it. A resource that is being
 * deleted claims none, so its key is revoked at once, whatever finalizers still hold it.
 */
function claimedHashes(key: Key): readonly string[] {
  if (key.metadata.deletionTimestamp !== undefined) return [];
  const hashes = key.spec.hash === undefined ? [] : [key.spec.hash];
  for (const { hash } of key.status?.hashes ?? []) {
    if (!hashes.includes(hash)) hashes.push(hash);
  }
  return hashes;
}

function keyEntry(resource: Key, hash: string): KeyEntry {
  const spec: ApiKey['spec'] | MasterKey['spec'] = resource.spec;
  const issued = resource.status?.hashes?.find((each) => each.hash === hash);
  // For the hash in the spec only the resource's own expiry counts, not the status.
  const issuedUntil = spec.hash === hash ? undefined : issued?.expirationTime;
  return {
    resource,
    expiresAtMs: Math.min(timeMs(spec.expirationTime), timeMs(issuedUntil)),
    models: 'models' in spec && spec.models !== undefined ? new Set(spec.models) : undefined,
  };
}

/** A time that cannot be parsed counts as past: a key with a damaged expiry must not be valid indefinitely. */
function timeMs(time: string | undefined): number {
  return time === undefined ? Number.POSITIVE_INFINITY : (timeOf(time) ?? 0);
}

function inOrder(contest: Contest): readonly Key[] {
  contest.order ??= [...contest.claimants.values()].sort(byAge);
  return contest.order;
}

/** The oldest first. One without a creation time is not stored yet, so it is the youngest. */
function byAge(a: Key, b: Key): number {
  const [ageA, ageB] = [createdMs(a), createdMs(b)];
  if (ageA !== ageB) return ageA - ageB;
  const [idA, idB] = [sortName(a), sortName(b)];
  return idA < idB ? -1 : Number(idA > idB);
}

function createdMs(key: Key): number {
  return timeOf(key.metadata.creationTimestamp) ?? Number.MAX_SAFE_INTEGER;
}

function sortName(key: Key): string {
  return `${key.metadata.namespace}/${key.metadata.name}/${key.kind}`;
}

function idOf(key: Key): string {
  return `${key.kind}/${key.metadata.namespace}/${key.metadata.name}`;
}
