import type { Registry } from 'prom-client';
import { registerCollected, type Sample } from './collected-metric.ts';

/** The requests of a node that has a bound (`spec.concurrency`). */
export interface BoundedNode {
  readonly node: string;
  readonly underWay: number;
  readonly waiting: number;
  readonly refused: number;
}

export interface LoadMetrics {
  /** Registers the source that is read at each scrape. */
  observe(read: () => Iterable<BoundedNode>): void;
}

/** Registers the metrics of nodes that have a bound; other nodes have none. */
export function createLoadMetrics(registry: Registry): LoadMetrics {
  let loads: () => Iterable<BoundedNode> = () => [];
  const register = (
    name: string,
    type: 'gauge' | 'counter',
    help: string,
    read: (load: BoundedNode) => number,
  ): void =>
    registerCollected(registry, { name, help, type, labelNames: ['node'] }, function* (): Iterable<Sample> {
      for (const load of loads()) yield { labels: { node: load.node }, value: read(load) };
    });
  register(
    'modelgateway_node_requests_in_flight',
    'gauge',
    'Requests of this gateway that are under way at a node with spec.concurrency.',
    ({ underWay }) => underWay,
  );
  register(
    'modelgateway_node_requests_waiting',
    'gauge',
    'Requests of this gateway that wait for a node with spec.concurrency. One that waits for several nodes counts for each.',
    ({ waiting }) => waiting,
  );
  register(
    'modelgateway_node_requests_refused_total',
    'counter',
    'Requests that got no place at a full node: its queue had none for their key, or they waited too long. They went to the next priority, or got 429.',
    ({ refused }) => refused,
  );
  return {
    observe: (read) => {
      loads = read;
    },
  };
}
