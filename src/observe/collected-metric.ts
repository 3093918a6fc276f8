import type { Metric, Registry } from 'prom-client';
import type { Distribution } from './distribution.ts';

/** One line of a metric. For parts of histograms and summaries `metricName` is not the metric's name. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

export interface CollectedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly labelNames?: readonly string[];
}

/**
 * Registers a metric whose samples are computed at each scrape from values kept elsewhere. prom-client's own metrics find a
 * series by a text that they join from its labels, at each count and at each scrape: 3 % of a small request, and half of
 * a scrape.
 */
export function registerCollected(
  registry: Registry,
  { name, help, type, labelNames = [] }: CollectedMetric,
  collect: () => Iterable<Sample>,
): void {
  const metric = {
    name,
    help,
    type,
    labelNames,
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type, aggregator: 'sum', values: [...collect()] }),
    reset: () => {},
  };
  // The type demands one of prom-client's own classes, but the registry calls only `get` and `reset`.
  registry.registerMetric(metric as unknown as Metric);
}

/** The samples of one series of a histogram. */
export function* distributionSamples(
  name: string,
  labels: Sample['labels'],
  { bounds, counts, sum }: Distribution,
): Iterable<Sample> {
  let count = 0;
  for (const [at, more] of counts.entries()) {
    count += more;
    yield {
      metricName: `${name}_bucket`,
      labels: { le: bounds[at] ?? '+Inf', ...labels },
      value: count,
    };
  }
  yield* totalSamples(name, labels, sum, count);
}

/** The samples of one series of a summary without quantiles. */
export function* totalSamples(
  name: string,
  labels: Sample['labels'],
  sum: number,
  count: number,
): Iterable<Sample> {
  yield { metricName: `${name}_sum`, labels, value: sum };
  yield { metricName: `${name}_count`, labels, value: count };
}
