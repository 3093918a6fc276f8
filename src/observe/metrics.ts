import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { replaceEventLoopLag } from './event-loop-lag.ts';
import { registerInternalErrors } from './internal-errors.ts';

/** How often prom-client samples the event loop, in milliseconds: practically never, because `replaceEventLoopLag` does it. */
const neverMs = 2 ** 31 - 1;

/** A registry with the metrics of every role: Node's own, `modelgateway_build_info`, `modelgateway_internal_errors_total`. */
export function createRegistry(version: string, role: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  replaceEventLoopLag(registry);
  new Gauge({
    name: 'modelgateway_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'role'],
    registers: [registry],
  }).set({ version, role }, 1);
  registerInternalErrors(registry);
  return registry;
}

/** Registers `modelgateway_log_lines_dropped_total`; returns the function that adds to it. */
export function createDroppedLinesCounter(registry: Registry): (lines: number) => void {
  const total = new Counter({
    name: 'modelgateway_log_lines_dropped_total',
    help: 'Lines of the log and the access log that were left out because the reader of stdout had no room for them.',
    registers: [registry],
  });
  return (lines) => total.inc(lines);
}

/** `rest_client_requests_total`, under client-go's name: calls to the API server. */
export function createApiRequestMetric(
  registry: Registry,
): (call: { code: string; method: string; host: string }) => void {
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Calls to the API server, by status, method and host.',
    labelNames: ['code', 'method', 'host'],
    registers: [registry],
  });
  return (call) => total.inc(call);
}

/** `leader_election_master_status`, under client-go's name: 1 while this process leads. */
export function createLeaderMetric(registry: Registry, name: string): (leads: boolean) => void {
  const status = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process holds the lease.',
    labelNames: ['name'],
    registers: [registry],
  });
  status.set({ name }, 0);
  return (leads) => status.set({ name }, leads ? 1 : 0);
}

/** What a store reports: per kind, whether its list is complete, how many objects it holds, and the state of its watch. */
export interface StoreMetrics {
  synced(kind: string, synced: boolean): void;
  objects(kind: string, count: number): void;
  event(kind: string, atMs: number): void;
  watchRestarted(kind: string, reason: string): void;
  relisted(kind: string): void;
  rejected(kind: string): void;
}

/** Registers the `modelgateway_store_*` metrics. `reason` must come from a closed set. */
export function createStoreMetrics(registry: Registry): StoreMetrics {
  const registers = [registry];
  const labelNames = ['kind'] as const;
  const gauge = (name: string, help: string): Gauge<'kind'> =>
    new Gauge({ name: `modelgateway_${name}`, help, labelNames, registers });
  const counter = (name: string, help: string): Counter<'kind'> =>
    new Counter({ name: `modelgateway_${name}`, help, labelNames, registers });
  const synced = gauge('store_synced', '1 once the first complete list of the kind is in.');
  const objects = gauge('store_objects', 'Objects held.');
  const last = gauge(
    'store_last_event_timestamp_seconds',
    'When the watch last brought anything, bookmarks included.',
  );
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
  return {
    synced(kind, value) {
      synced.set({ kind }, value ? 1 : 0);
      // The store reports this first: every series of the kind begins at 0 here, so that rates are right.
      for (const counter of [relists, rejected]) counter.inc({ kind }, 0);
    },
    objects: (kind, count) => objects.set({ kind }, count),
    event: (kind, atMs) => last.set({ kind }, atMs / 1000),
    watchRestarted: (kind, reason) => restarts.inc({ kind, reason }),
    relisted: (kind) => relists.inc({ kind }),
    rejected: (kind) => rejected.inc({ kind }),
  };
}
