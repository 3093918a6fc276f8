import type { Registry } from 'prom-client';
import {
  type CollectedMetric,
  distributionSamples,
  registerCollected,
  type Sample,
} from '../observe/collected-metric.ts';
import { Distribution } from '../observe/distribution.ts';
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
  /** The observer of one controller. Its label sets exist from now on, so that rates begin at 0. `startTimes` gives the start times of the items in work. */
  controller(name: string, startTimes: () => Iterable<number>): ControllerObserver;
  contacted(kind: 'sync' | 'check', good: boolean): void;
  contactsInFlight(count: number): void;
}

const queueBuckets = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1_000];
const reconcileBuckets = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The counts of one controller: plain numbers that a scrape reads. */
interface Meter {
  readonly startTimes: () => Iterable<number>;
  readonly results: Record<ReconcileResult, number>;
  readonly reconcileSeconds: Distribution;
  readonly waitedSeconds: Distribution;
  readonly workedSeconds: Distribution;
  terminal: number;
  active: number;
  workers: number;
  depth: number;
  adds: number;
  retries: number;
}

/**
 * Registers the controllers' metrics under controller-runtime's names, so that its dashboards and alerts work.
 * `now` gives milliseconds since 1970. Counting must be cheap: prom-client's counters took an eighth of the CPU time of a
 * controller at rest.
 */
export function createControllerMetrics(registry: Registry, now: () => number): ControllerMetrics {
  const meters = new Map<string, Meter>();
  const contacts = { sync: { good: 0, bad: 0 }, check: { good: 0, bad: 0 } };
  let inFlight = 0;
  const ages = ({ startTimes }: Meter): number[] =>
    [...startTimes()].map((start) => Math.max(0, now() - start) / 1_000);
  const family = (
    type: CollectedMetric['type'],
    name: string,
    help: string,
    samples: (meter: Meter, labels: Sample['labels']) => Iterable<Sample>,
  ): void => {
    // controller-runtime has two names for the same result.
    const label = name.startsWith('workqueue_') ? 'name' : 'controller';
    registerCollected(registry, { name, help, type, labelNames: [label] }, function* () {
      for (const [controller, meter] of meters) yield* samples(meter, { [label]: controller });
    });
  };
  const single = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    value: (meter: Meter) => number,
  ): void => family(type, name, help, (meter, labels) => [{ labels, value: value(meter) }]);
  const histogram = (name: string, help: string, of: (meter: Meter) => Distribution): void =>
    family('histogram', name, help, (meter, labels) => distributionSamples(name, labels, of(meter)));

  registerCollected(
    registry,
    {
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciles that ended, by result.',
      type: 'counter',
      labelNames: ['controller', 'result'],
    },
    function* () {
      for (const [controller, { results }] of meters)
        for (const [result, value] of Object.entries(results))
          yield { labels: { controller, result }, value };
    },
  );
  single(
    'counter',
    'controller_runtime_reconcile_errors_total',
    'Reconciles that failed.',
    ({ results }) => results.error,
  );
  single(
    'counter',
    'controller_runtime_terminal_reconcile_errors_total',
    'Reconciles that failed for good, until something changes.',
    ({ terminal }) => terminal,
  );
  histogram(
    'controller_runtime_reconcile_time_seconds',
    'How long reconciles take.',
    ({ reconcileSeconds }) => reconcileSeconds,
  );
  single('gauge', 'controller_runtime_active_workers', 'Workers that reconcile now.', ({ active }) => active);
  single(
    'gauge',
    'controller_runtime_max_concurrent_reconciles',
    'Workers there are.',
    ({ workers }) => workers,
  );
  single('gauge', 'workqueue_depth', 'Resources that wait.', ({ depth }) => depth);
  single('counter', 'workqueue_adds_total', 'Resources added.', ({ adds }) => adds);
  single(
    'counter',
    'workqueue_retries_total',
    'Resources put off after a failure.',
    ({ retries }) => retries,
  );
  histogram(
    'workqueue_queue_duration_seconds',
    'How long resources waited.',
    ({ waitedSeconds }) => waitedSeconds,
  );
  histogram(
    'workqueue_work_duration_seconds',
    'How long resources were worked on.',
    ({ workedSeconds }) => workedSeconds,
  );
  single('gauge', 'workqueue_unfinished_work_seconds', 'Sum of the ages of the work in progress.', (meter) =>
    ages(meter).reduce((a, b) => a + b, 0),
  );
  single(
    'gauge',
    'workqueue_longest_running_processor_seconds',
    'Age of the oldest work in progress.',
    (meter) => Math.max(0, ...ages(meter)),
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_node_contacts_total',
      help: 'Model syncs and health checks that ended, by outcome.',
      type: 'counter',
      labelNames: ['kind', 'result'],
    },
    function* () {
      for (const [kind, results] of Object.entries(contacts))
        for (const [result, value] of Object.entries(results)) yield { labels: { kind, result }, value };
    },
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_node_contacts_in_flight',
      help: 'Model syncs and health checks under way.',
      type: 'gauge',
    },
    () => [{ labels: {}, value: inFlight }],
  );

  return {
    contacted(kind, good) {
      contacts[kind][good ? 'good' : 'bad'] += 1;
    },
    contactsInFlight(count) {
      inFlight = count;
    },
    controller(name, startTimes) {
      const meter: Meter = {
        startTimes,
        results: { success: 0, error: 0, requeue_after: 0 },
        reconcileSeconds: new Distribution(reconcileBuckets),
        waitedSeconds: new Distribution(queueBuckets),
        workedSeconds: new Distribution(queueBuckets),
        ...{ terminal: 0, active: 0, workers: 0, depth: 0, adds: 0, retries: 0 },
      };
      meters.set(name, meter);
      return observerOf(meter);
    },
  };
}

function observerOf(meter: Meter): ControllerObserver {
  return {
    queue: {
      added() {
        meter.adds += 1;
      },
      depth(ids) {
        meter.depth = ids;
      },
      retried() {
        meter.retries += 1;
      },
      waited: (seconds) => meter.waitedSeconds.observe(seconds),
      worked: (seconds) => meter.workedSeconds.observe(seconds),
    },
    workers(count) {
      meter.workers = count;
    },
    started() {
      meter.active += 1;
    },
    ended(result, isTerminal, seconds) {
      meter.active -= 1;
      meter.results[result] += 1;
      if (isTerminal) meter.terminal += 1;
      meter.reconcileSeconds.observe(seconds);
    },
  };
}
