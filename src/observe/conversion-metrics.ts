import type { Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** Counts what the gateway's conversions do. Every argument comes from a closed set, or names a node of a manifest. */
export interface ConversionMetrics {
  /** All conversions: their series begin at 0. */
  readonly declare: (conversions: Iterable<string>) => void;
  /** A conversion ran, such as `messages->chat`. */
  readonly converted: (conversion: string) => void;
  /** A field of a request could not be carried to the node. */
  readonly dropped: (conversion: string, field: string) => void;
  /** A part of a reply could not be expressed in the caller's format. */
  readonly lost: (conversion: string, what: string) => void;
  /** A node answered 400 to a field that the setting of `spec.dialect` would not send to it. */
  readonly refusedByNode: (node: string, setting: string) => void;
}

/** Registers the `modelgateway_conversion*` metrics. */
export function createConversionMetrics(registry: Registry): ConversionMetrics {
  const total = new Map<string, number>();
  registerCollected(
    registry,
    {
      name: 'modelgateway_conversions_total',
      help: 'Attempts on nodes in another format than the caller’s.',
      type: 'counter',
      labelNames: ['conversion'],
    },
    function* (): Iterable<Sample> {
      for (const [conversion, value] of total) yield { labels: { conversion }, value };
    },
  );
  return {
    declare(conversions) {
      for (const conversion of conversions) total.set(conversion, 0);
    },
    converted: (conversion) => void total.set(conversion, (total.get(conversion) ?? 0) + 1),
    dropped: registerPairs(registry, {
      name: 'modelgateway_conversion_dropped_total',
      help: 'Requests of which a field could not be carried, by field without indexes.',
      labelNames: ['conversion', 'field'],
    }),
    lost: registerPairs(registry, {
      name: 'modelgateway_conversion_lost_total',
      help: 'Answers of which something could not be said in the caller’s format.',
      labelNames: ['conversion', 'what'],
    }),
    refusedByNode: registerPairs(registry, {
      name: 'modelgateway_conversion_refused_total',
      help: 'Answers of 400 or 422 that a setting of the node’s dialect would avoid; the log has the value.',
      labelNames: ['node', 'setting'],
    }),
  };
}

interface PairMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly [string, string];
}

/** Registers a counter with two labels; returns the function that increments it. */
function registerPairs(
  registry: Registry,
  { name, help, labelNames }: PairMetric,
): (first: string, second: string) => void {
  const [firstName, secondName] = labelNames;
  const counts = new Map<string, Map<string, number>>();
  registerCollected(registry, { name, help, type: 'counter', labelNames }, function* (): Iterable<Sample> {
    for (const [first, seconds] of counts)
      for (const [second, value] of seconds)
        yield { labels: { [firstName]: first, [secondName]: second }, value };
  });
  return (first, second) => {
    const seconds = counts.get(first) ?? new Map<string, number>();
    counts.set(first, seconds);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  };
}
