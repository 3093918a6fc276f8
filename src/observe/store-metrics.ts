import { Counter, Gauge, type Registry } from 'prom-client';
import { registerCollected } from './collected-metric.ts';

/** One list that a store follows, as it is now. */
export interface ListStanding {
  readonly kind: string;
  /** Undefined if the list says nothing of one namespace. */
  readonly namespace: string | undefined;
  readonly isComplete: boolean;
  /** It is refused or keeps failing. */
  readonly isLost: boolean;
  /** When anything was received, in milliseconds since 1970. */
  readonly receivedAtMs: number;
}

/** What a store reports: how many objects it holds of each kind, and the state of its lists and watches. */
export interface StoreMetrics {
  /** Registers the lists, which are read at each scrape. Call it once. */
  lists(read: () => Iterable<ListStanding>): void;
  /** Registers the number of Secrets of each namespace that nodes name and the API server fails to return. Call it once. */
  unreadableSecrets(read: () => ReadonlyMap<string, number>): void;
  objects(kind: string, count: number): void;
  /** Begins the series of a kind at 0, so that rates are correct. */
  begin(kind: string): void;
  watchRestarted(kind: string, reason: string): void;
  relisted(kind: string): void;
  rejected(kind: string): void;
}

/**
 * Registers the `modelgateway_store_*` metrics. The label is not called `namespace`, which Prometheus gives to the pod's own.
 * `reason` must come from a closed set.
 */
export function createStoreMetrics(registry: Registry): StoreMetrics {
  const registers = [registry];
  const labelNames = ['kind'] as const;
  const counter = (name: string, help: string): Counter<'kind'> =>
    new Counter({ name: `modelgateway_${name}`, help, labelNames, registers });
  const objects = new Gauge({
    name: 'modelgateway_store_objects',
    help: 'Objects held.',
    labelNames,
    registers,
  });
  const relists = counter('relists_total', 'Complete lists read again after the first.');
  const rejected = counter(
    'store_rejected_objects_total',
    'Objects that did not parse; their last good version stays.',
  );
  const restarts = new Counter({
    name: 'modelgateway_watch_restarts_total',
    help: 'Watches that ended and were resumed, by reason.',
    labelNames: ['kind', 'reason'],
    registers,
  });
  let standings: () => Iterable<ListStanding> = () => [];
  let unreadable: () => ReadonlyMap<string, number> = () => new Map();
  registerCollected(
    registry,
    {
      name: 'modelgateway_store_synced',
      help: '1 while a complete list of the kind is in for every namespace, 0 while one is missing.',
      type: 'gauge',
      labelNames,
    },
    () => byLabel('kind', standings(), ({ kind, isComplete }) => [kind, isComplete ? 1 : 0]),
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_store_last_event_timestamp_seconds',
      help: 'When the watch that was silent for longest brought anything, bookmarks included.',
      type: 'gauge',
      labelNames,
    },
    () =>
      byLabel('kind', standings(), ({ kind, isComplete, receivedAtMs }) =>
        isComplete ? [kind, receivedAtMs / 1_000] : undefined,
      ),
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_store_namespace_followed',
      help: '1 while the namespace is followed; 0 while its lists are missing, refused or failing. No series with --all-namespaces.',
      type: 'gauge',
      labelNames: ['resource_namespace'],
    },
    () =>
      byLabel('resource_namespace', standings(), ({ namespace, isComplete, isLost }) =>
        namespace === undefined ? undefined : [namespace, isComplete && !isLost ? 1 : 0],
      ),
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_store_unreadable_secrets',
      help: 'Secrets that nodes name and that the API server fails to return, because it cannot decrypt them, for example.',
      type: 'gauge',
      labelNames: ['resource_namespace'],
    },
    function* () {
      for (const [namespace, value] of unreadable())
        yield { labels: { resource_namespace: namespace }, value };
    },
  );
  return {
    lists: (read) => {
      standings = read;
    },
    unreadableSecrets: (read) => {
      unreadable = read;
    },
    begin(kind) {
      for (const each of [relists, rejected]) each.inc({ kind }, 0);
    },
    objects: (kind, count) => objects.set({ kind }, count),
    watchRestarted: (kind, reason) => restarts.inc({ kind, reason }),
    relisted: (kind) => relists.inc({ kind }),
    rejected: (kind) => rejected.inc({ kind }),
  };
}

/** The smallest value of each label: the worst list speaks for the others. */
function* byLabel(
  label: string,
  standings: Iterable<ListStanding>,
  value: (standing: ListStanding) => [string, number] | undefined,
) {
  const least = new Map<string, number>();
  for (const standing of standings) {
    const [name, its] = value(standing) ?? [];
    if (name !== undefined && its !== undefined) least.set(name, Math.min(its, least.get(name) ?? its));
  }
  for (const [name, its] of least) yield { labels: { [label]: name }, value: its };
}
