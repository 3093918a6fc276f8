import type { Registry } from 'prom-client';
import { type NodeStanding, type ReadyCount, registerResourceMetrics } from '../observe/resource-metrics.ts';
import { conditionOf } from '../resources/condition-of.ts';
import { reasons } from '../resources/reasons.ts';
import { timeOf } from '../resources/time.ts';
import type { Kind, ResourceOf, Store } from '../store/store.ts';

/** Registers the metrics of the resources in a store; to be called before it fills. */
export function observeResources(store: Store, registry: Registry): void {
  const counts = new ReadyCounts(store);
  registerResourceMetrics(
    registry,
    () => nodeStandings(store),
    () => counts.read(),
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

/** Counts resources by their Ready condition, change by change: there may be 100,000, too many to count at a scrape. */
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
