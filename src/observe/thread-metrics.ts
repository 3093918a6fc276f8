import { Registry } from 'prom-client';
import { distributionSamples, registerCollected, type Sample } from './collected-metric.ts';
import { Distribution } from './distribution.ts';

/** Seconds that a job waits: for nothing, for one job of usual size, for a few of the largest. */
const waitBounds = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Counts what the threads for large bodies do. */
export interface ThreadMetrics {
  /** The turn of a job, such as `inspect`, has come after `waitedMs`. */
  readonly began: (kind: string, waitedMs: number) => void;
  /** A thread ended although it had a job: it took too long, or needed too much memory. */
  readonly lost: () => void;
}

/** Registers the `modelgateway_thread_*` metrics; without a registry they are counted but not exposed. */
export function createThreadMetrics(registry: Registry = new Registry()): ThreadMetrics {
  const waits = new Map<string, Distribution>();
  let lost = 0;
  const wait = 'modelgateway_thread_wait_seconds';
  registerCollected(
    registry,
    {
      name: wait,
      help: 'How long work on large bodies and answers waited for its thread, by kind of work.',
      type: 'histogram',
      labelNames: ['kind'],
    },
    function* (): Iterable<Sample> {
      for (const [kind, distribution] of waits) yield* distributionSamples(wait, { kind }, distribution);
    },
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_thread_losses_total',
      help: 'Threads for large bodies that ended with work in hand: it took too long, or too much memory.',
      type: 'counter',
    },
    () => [{ labels: {}, value: lost }],
  );
  return {
    began(kind, waitedMs) {
      const distribution = waits.get(kind) ?? new Distribution(waitBounds);
      waits.set(kind, distribution);
      distribution.observe(waitedMs / 1000);
    },
    lost() {
      lost += 1;
    },
  };
}
