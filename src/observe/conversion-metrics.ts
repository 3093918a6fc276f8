import { Counter, type Registry } from 'prom-client';

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
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name: `modelgateway_${name}`, help, labelNames, registers: [registry] });
  const total = counter(
    'conversions_total',
    'Attempts on nodes in another format than the caller’s.',
    'conversion',
  );
  const dropped = counter(
    'conversion_dropped_total',
    'Requests of which a field could not be carried, by field without indexes.',
    'conversion',
    'field',
  );
  const lost = counter(
    'conversion_lost_total',
    'Answers of which something could not be said in the caller’s format.',
    'conversion',
    'what',
  );
  const refused = counter(
    'conversion_refused_total',
    'Answers of 400 or 422 that a setting of the node’s dialect would avoid; the log has the value.',
    'node',
    'setting',
  );
  return {
    declare(conversions) {
      for (const conversion of conversions) total.inc({ conversion }, 0);
    },
    converted: (conversion) => total.inc({ conversion }),
    dropped: (conversion, field) => dropped.inc({ conversion, field }),
    lost: (conversion, what) => lost.inc({ conversion, what }),
    refusedByNode: (node, setting) => refused.inc({ node, setting }),
  };
}
