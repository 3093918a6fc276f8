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
