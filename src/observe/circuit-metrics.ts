import { Counter, type Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** A circuit that is not closed. */
export interface OpenCircuit {
  readonly node: string;
  /** Undefined for the circuit of a whole node. */
  readonly model: string | undefined;
  readonly state: 'open' | 'half_open';
}

export interface CircuitMetrics {
  /** A circuit has opened. */
  opened(node: string): void;
  /** Removes the series of a deleted node. */
  forget(node: string): void;
  /** Registers the source that is read at each scrape. */
  observe(read: () => Iterable<OpenCircuit>): void;
}

/** Most circuits shown at each scrape; `modelgateway_circuits_open` counts all of them. */
const mostShown = 2_000;

/** Registers the `modelgateway_circuit*` metrics. */
export function createCircuitMetrics(registry: Registry): CircuitMetrics {
  let circuits: () => Iterable<OpenCircuit> = () => [];
  registerCollected(
    registry,
    {
      name: 'modelgateway_circuits_open',
      help: 'Circuits of this gateway that are open or half-open now.',
      type: 'gauge',
    },
    () => [{ labels: {}, value: [...circuits()].length }],
  );
  registerCollected(
    registry,
    {
      name: 'modelgateway_circuit_state',
      help: 'Always 1: a circuit of this gateway that is not closed. No model: that of a whole node.',
      type: 'gauge',
      labelNames: ['node', 'model', 'state'],
    },
    function* (): Iterable<Sample> {
      let shown = 0;
      for (const { node, model = '', state } of circuits()) {
        if (++shown > mostShown) return;
        yield { labels: { node, model, state }, value: 1 };
      }
    },
  );
  const openings = new Counter({
    name: 'modelgateway_circuit_openings_total',
    help: 'How often circuits of a node or its models have opened.',
    labelNames: ['node'],
    registers: [registry],
  });
  return {
    opened: (node) => openings.inc({ node }),
    forget: (node) => openings.remove({ node }),
    observe: (read) => {
      circuits = read;
    },
  };
}
