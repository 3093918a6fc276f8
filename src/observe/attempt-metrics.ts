import type { Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** Counts attempts on nodes. `node` is one of a manifest, `outcome` one of a closed set. */
export interface AttemptMetrics {
  attempted(node: string, outcome: string): void;
  /** The node is gone: its series end. */
  forget(node: string): void;
}

/** Registers `modelgateway_upstream_attempts_total`. */
export function createAttemptMetrics(registry: Registry): AttemptMetrics {
  const nodes = new Map<string, Map<string, number>>();
  registerCollected(
    registry,
    {
      name: 'modelgateway_upstream_attempts_total',
      help: 'Attempts on nodes that ended, by node and how.',
      type: 'counter',
      labelNames: ['node', 'outcome'],
    },
    function* (): Iterable<Sample> {
      for (const [node, outcomes] of nodes) {
        for (const [outcome, value] of outcomes) yield { labels: { node, outcome }, value };
      }
    },
  );
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
