import type { Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** Counts attempts on nodes. `node` comes from a manifest, `outcome` from a closed set. */
export interface AttemptMetrics {
  attempted(node: string, outcome: string): void;
  /** Removes the series of a deleted node. */
  forget(node: string): void;
  /** Registers the source that is read at each scrape: how often each node's requests were sent again on a fresh connection. */
  observe(replays: () => Iterable<{ readonly node: string; readonly value: number }>): void;
}

/** Registers `modelgateway_upstream_attempts_total` and `modelgateway_upstream_replays_total`. */
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
  let replays: () => Iterable<{ readonly node: string; readonly value: number }> = () => [];
  registerCollected(
    registry,
    {
      name: 'modelgateway_upstream_replays_total',
      help: 'Requests that were sent again on a fresh connection, because the node had just closed the used one.',
      type: 'counter',
      labelNames: ['node'],
    },
    function* (): Iterable<Sample> {
      for (const { node, value } of replays()) yield { labels: { node }, value };
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
    observe: (read) => {
      replays = read;
    },
  };
}
