import { Counter, type Registry } from 'prom-client';

/** Counts attempts on nodes. `node` is one of a manifest, `outcome` one of a closed set. */
export interface AttemptMetrics {
  attempted(node: string, outcome: string): void;
  /** The node is gone: its series end. */
  forget(node: string): void;
}

/** Registers `modelgateway_upstream_attempts_total`. */
export function createAttemptMetrics(registry: Registry): AttemptMetrics {
  // Counted here and handed over at the scrape: prom-client makes a text of the labels at each count.
  const nodes = new Map<string, Map<string, number>>();
  new Counter({
    name: 'modelgateway_upstream_attempts_total',
    help: 'Attempts on nodes that ended, by node and how.',
    labelNames: ['node', 'outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, outcomes] of nodes) {
        for (const [outcome, count] of outcomes) this.inc({ node, outcome }, count);
      }
    },
  });
  return {
    attempted(node, outcome) {
      let outcomes = nodes.get(node);
      if (outcomes === undefined) {
        outcomes = new Map();
        nodes.set(node, outcomes);
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    },
    forget: (node) => void nodes.delete(node),
  };
}
