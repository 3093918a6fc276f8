import { setImmediate as turn } from 'node:timers/promises';
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';
import type { Sample } from '../collected-metric.ts';
import { attributesOf, conventionOf } from './conventions.ts';

interface Collected {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

/**
 * Gives the metrics of the registry to OpenTelemetry at each export, so that nothing is counted twice. `startMs` is the time
 * at which the counters were 0. `startMs` and `now` are in milliseconds since 1970.
 */
export function createMetricProducer(
  registry: Registry,
  {
    version,
    startMs,
    now,
  }: { readonly version: string; readonly startMs: number; readonly now: () => number },
): MetricProducer {
  return {
    async collect() {
      const times = { startTime: hrTime(startMs), endTime: hrTime(now()) };
      const metrics: MetricData[] = [];
      for (const metric of registry.getMetricsAsArray() as unknown as { get(): Promise<Collected> }[]) {
        const data = toMetricData(await metric.get(), times);
        if (data.dataPoints.length > 0) metrics.push(data);
        // With a thousand nodes, one uninterrupted run would delay every stream.
        await turn();
      }
      return {
        resourceMetrics: {
          resource: emptyResource(),
          scopeMetrics: [
            {
              scope: { name: 'model-gateway', version },
              metrics,
            },
          ],
        },
        errors: [],
      };
    },
  };
}

type Times = Pick<DataPoint<number>, 'startTime' | 'endTime'>;

function toMetricData({ name, help, type, values }: Collected, times: Times): MetricData {
  const { name: ownName, unit } = conventionOf(name);
  const shared = {
    descriptor: { name: ownName, description: help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === 'histogram' || type === 'summary') {
    const dataPoints = histograms(name, values, times);
    return { ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = values.flatMap(({ labels, value }) => {
    const attributes = attributesOf(name, labels);
    return attributes === undefined ? [] : [{ ...times, attributes, value }];
  });
  if (type === 'counter')
    return { ...shared, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return { ...shared, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** Prometheus' buckets are cumulative, OpenTelemetry's are not. */
function histograms(name: string, values: readonly Sample[], times: Times): DataPoint<Histogram>[] {
  const series = new Map<string, { attributes: Attributes; value: MutableHistogram; before: number }>();
  for (const { metricName = name, labels, value } of values) {
    const { le, quantile, ...rest } = labels;
    if (quantile !== undefined) continue;
    const attributes = attributesOf(name, rest);
    if (attributes === undefined) continue;
    const id = JSON.stringify(attributes);
    let one = series.get(id);
    if (one === undefined) {
      one = { attributes, before: 0, value: { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 } };
      series.set(id, one);
    }
    if (metricName.endsWith('_sum')) one.value.sum = value;
    else if (metricName.endsWith('_count')) one.value.count = value;
    else if (le !== undefined) {
      const { boundaries, counts } = one.value.buckets;
      if (le !== '+Inf') boundaries.push(Number(le));
      counts.push(value - one.before);
      one.before = value;
    }
  }
  return [...series.values()].map(({ attributes, value }) => {
    if (value.buckets.counts.length === 0) value.buckets.counts.push(value.count);
    return { ...times, attributes, value };
  });
}

interface MutableHistogram extends Histogram {
  sum: number;
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
