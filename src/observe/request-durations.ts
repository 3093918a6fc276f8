import type { Metric, Registry } from 'prom-client';

const name = 'modelgateway_request_duration_seconds';
/** Upper bounds in seconds. */
const bounds = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

interface Series {
  /** Requests up to each bound and above the one before; the last is for those above all. */
  readonly counts: number[];
  sum: number;
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * `modelgateway_request_duration_seconds` by route. A metric of its own for prom-client's registry, which asks metrics
 * for their samples only: its Histogram finds a series by a text made anew each time, 3 % of a small request.
 */
export class RequestDurations {
  readonly name = name;
  readonly help = 'Time from the request head to the last byte of the answer.';
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #routes = new Map<string, Series>();

  observe(route: string, seconds: number): void {
    let series = this.#routes.get(route);
    if (series === undefined) {
      series = { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 };
      this.#routes.set(route, series);
    }
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at += 1;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  /** Called by the registry at each scrape. */
  get(): Promise<object> {
    const values: Sample[] = [];
    for (const [route, { counts, sum }] of this.#routes) {
      let count = 0;
      counts.forEach((more, at) => {
        count += more;
        values.push({
          metricName: `${name}_bucket`,
          labels: { le: bounds[at] ?? '+Inf', route },
          value: count,
        });
      });
      values.push({ metricName: `${name}_sum`, labels: { route }, value: sum });
      values.push({ metricName: `${name}_count`, labels: { route }, value: count });
    }
    const { help, type, aggregator } = this;
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  reset(): void {
    this.#routes.clear();
  }
}

/** Registers the metric. */
export function createRequestDurations(registry: Registry): RequestDurations {
  const durations = new RequestDurations();
  // The type says that a metric is one of prom-client's own classes; what it calls is `get` and `reset`.
  registry.registerMetric(durations as unknown as Metric);
  return durations;
}
