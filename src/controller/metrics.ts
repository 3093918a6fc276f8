import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { QueueObserver } from './queue.ts';

/** How a reconcile ended, in controller-runtime's words. */
type ReconcileResult = 'success' | 'error' | 'requeue_after';

/** What one controller reports. Times in seconds. */
export interface ControllerObserver {
  readonly queue: QueueObserver;
  workers(count: number): void;
  started(): void;
  ended(result: ReconcileResult, terminal: boolean, seconds: number): void;
}

/** The metrics of all controllers of this process. */
export interface ControllerMetrics {
  /** The observer of one controller; its label sets exist from now on, so that rates begin at 0. `startTimes` tells what is being worked on. */
  controller(name: string, startTimes: () => Iterable<number>): ControllerObserver;
  contacted(kind: 'sync' | 'check', good: boolean): void;
  contactsInFlight(count: number): void;
}

const queueBuckets = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1_000];
const reconcileBuckets = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Registers the controllers' metrics under controller-runtime's names, so that its dashboards and alerts work.
 * `now` gives milliseconds since 1970.
 */
export function createControllerMetrics(registry: Registry, now: () => number): ControllerMetrics {
  const registers = [registry];
  const sources = new Map<string, () => Iterable<number>>();
  const ages = function* (name: string): Iterable<number> {
    for (const start of sources.get(name)?.() ?? []) yield Math.max(0, now() - start) / 1_000;
  };
  const counter = (name: string, help: string) =>
    new Counter({ name: `controller_runtime_${name}`, help, labelNames: ['controller'] as const, registers });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `controller_runtime_${name}`, help, labelNames: ['controller'] as const, registers });
  const queueGauge = (name: string, help: string, collect?: (gauge: Gauge<'name'>) => void) =>
    new Gauge({
      name: `workqueue_${name}`,
      help,
      labelNames: ['name'] as const,
      registers,
      ...(collect === undefined
        ? {}
        : {
            collect() {
              collect(this);
            },
          }),
    });
  const queueCounter = (name: string, help: string) =>
    new Counter({ name: `workqueue_${name}`, help, labelNames: ['name'] as const, registers });
  const queueHistogram = (name: string, help: string) =>
    new Histogram({
      name: `workqueue_${name}`,
      help,
      labelNames: ['name'] as const,
      buckets: queueBuckets,
      registers,
    });

  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles that ended, by result.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = counter('reconcile_errors_total', 'Reconciles that failed.');
  const terminal = counter(
    'terminal_reconcile_errors_total',
    'Reconciles that failed for good, until something changes.',
  );
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long reconciles take.',
    labelNames: ['controller'],
    buckets: reconcileBuckets,
    registers,
  });
  const active = gauge('active_workers', 'Workers that reconcile now.');
  const most = gauge('max_concurrent_reconciles', 'Workers there are.');
  const depth = queueGauge('depth', 'Resources that wait.');
  const adds = queueCounter('adds_total', 'Resources added.');
  const retries = queueCounter('retries_total', 'Resources put off after a failure.');
  const waited = queueHistogram('queue_duration_seconds', 'How long resources waited.');
  const worked = queueHistogram('work_duration_seconds', 'How long resources were worked on.');
  queueGauge('unfinished_work_seconds', 'Sum of the ages of the work in progress.', (self) => {
    for (const name of sources.keys())
      self.set(
        { name },
        [...ages(name)].reduce((a, b) => a + b, 0),
      );
  });
  queueGauge('longest_running_processor_seconds', 'Age of the oldest work in progress.', (self) => {
    for (const name of sources.keys()) self.set({ name }, Math.max(0, ...ages(name)));
  });
  const contacts = new Counter({
    name: 'modelgateway_node_contacts_total',
    help: 'Model syncs and health checks that ended, by outcome.',
    labelNames: ['kind', 'result'],
    registers,
  });
  for (const kind of ['sync', 'check'])
    for (const result of ['good', 'bad']) contacts.inc({ kind, result }, 0);
  const inFlight = new Gauge({
    name: 'modelgateway_node_contacts_in_flight',
    help: 'Model syncs and health checks under way.',
    registers,
  });

  return {
    contacted: (kind, good) => contacts.inc({ kind, result: good ? 'good' : 'bad' }),
    contactsInFlight: (count) => inFlight.set(count),
    controller(controller, startTimes) {
      const name = controller;
      sources.set(name, startTimes);
      for (const result of ['success', 'error', 'requeue_after']) total.inc({ controller, result }, 0);
      for (const metric of [errors, terminal]) metric.inc({ controller }, 0);
      for (const metric of [adds, retries]) metric.inc({ name }, 0);
      for (const metric of [waited, worked]) metric.zero({ name });
      time.zero({ controller });
      active.set({ controller }, 0);
      depth.set({ name }, 0);
      return {
        queue: {
          added: () => adds.inc({ name }),
          depth: (keys) => depth.set({ name }, keys),
          retried: () => retries.inc({ name }),
          waited: (seconds) => waited.observe({ name }, seconds),
          worked: (seconds) => worked.observe({ name }, seconds),
        },
        workers: (count) => most.set({ controller }, count),
        started: () => active.inc({ controller }),
        ended(result, isTerminal, seconds) {
          active.dec({ controller });
          total.inc({ controller, result });
          if (result === 'error') errors.inc({ controller });
          if (isTerminal) terminal.inc({ controller });
          time.observe({ controller }, seconds);
        },
      };
    },
  };
}
