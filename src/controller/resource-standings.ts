import type { Registry } from 'prom-client';
import {
  type KeyExpiry,
  type NodeStanding,
  type ReadyCount,
  registerResourceMetrics,
} from '../observe/resource-metrics.ts';
import { conditionOf } from '../resources/condition-of.ts';
import { reasons } from '../resources/reasons.ts';
import { timeOf } from '../resources/time.ts';
import type { Kind, ResourceOf, Store } from '../store/store.ts';
import { isLongLived } from './keys/expiry.ts';
import type { Key } from './keys/key.ts';

/** Registers the metrics of the resources in a store; to be called before it fills. */
export function observeResources(store: Store, registry: Registry): void {
  const counts = new ReadyCounts(store);
  const expiries = new KeyExpiries(store);
  registerResourceMetrics(
    registry,
    () => nodeStandings(store),
    () => counts.read(),
    () => expiries.read(),
  );
}

/** The phase of every node. */
function* nodeStandings(store: Store): Iterable<NodeStanding> {
  for (const { metadata, spec, status } of store.list('UpstreamNode')) {
    yield {
      node: `${metadata.namespace}/${metadata.name}`,
      phase: status?.phase ?? 'idle',
      enabled: spec.enabled,
      models: status?.enabledModelCount ?? 0,
      syncedAtMs: timeOf(status?.lastSyncTime),
    };
  }
}

/** Counts resources by their Ready condition. It updates the counts at each change, because 100,000 resources are too many to count at a scrape. */
class ReadyCounts {
  readonly #counts = new Map<Kind, Map<string, { ready: string; reason: string; count: number }>>();

  constructor(store: Pick<Store, 'subscribe' | 'list'>) {
    for (const kind of ['UpstreamNode', 'APIKey', 'MasterKey'] as const)
      for (const resource of store.list(kind)) this.#add(kind, resource, 1);
    store.subscribe((change) => {
      if (!('before' in change || 'after' in change)) return;
      if (change.before !== undefined) this.#add(change.kind, change.before, -1);
      if (change.after !== undefined) this.#add(change.kind, change.after, 1);
    });
  }

  *read(): Iterable<ReadyCount> {
    for (const [kind, ofKind] of this.#counts)
      for (const { ready, reason, count } of ofKind.values()) yield { kind, ready, reason, count };
  }

  #add(kind: Kind, { status }: ResourceOf[Kind], change: 1 | -1): void {
    const { status: ready = 'Unknown', reason: said = 'Pending' } =
      conditionOf(status?.conditions, 'Ready') ?? {};
    const reason = Object.hasOwn(reasons, said) ? said : 'other';
    let ofKind = this.#counts.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      this.#counts.set(kind, ofKind);
    }
    const name = `${ready} ${reason}`;
    const counted = ofKind.get(name);
    if (counted === undefined) ofKind.set(name, { ready, reason, count: change });
    else counted.count += change;
  }
}

const mostExpiries = 1_000;

/** The keys that expire. Updated at each change, because 100,000 keys are too many to read at a scrape. */
class KeyExpiries {
  readonly #expiries = new Map<string, KeyExpiry>();

  constructor(store: Pick<Store, 'subscribe' | 'list'>) {
    for (const kind of ['APIKey', 'MasterKey'] as const)
      for (const key of store.list(kind)) this.#note(kind, key.metadata, key);
    store.subscribe((change) => {
      if (change.kind === 'APIKey' || change.kind === 'MasterKey')
        this.#note(change.kind, change, change.after);
    });
  }

  read(): Iterable<KeyExpiry> {
    return [...this.#expiries.values()].sort((a, b) => a.expiresAtMs - b.expiresAtMs).slice(0, mostExpiries);
  }

  #note(kind: Key['kind'], place: { namespace: string; name: string }, key: Key | undefined): void {
    const name = `${place.namespace}/${place.name}`;
    const expiresAtMs = key?.spec.enabled === true ? timeOf(key.spec.expirationTime) : undefined;
    if (expiresAtMs === undefined || !isLongLived(key?.metadata.creationTimestamp, expiresAtMs)) {
      this.#expiries.delete(`${kind} ${name}`);
    } else this.#expiries.set(`${kind} ${name}`, { kind, key: name, expiresAtMs });
  }
}
