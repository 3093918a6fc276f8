import type { UpstreamNode } from '../../resources/upstream-node.ts';

/** How many requests a node may have under way, and how many may wait for it; undefined if it has no bound. */
export type Concurrency = NonNullable<UpstreamNode['spec']['concurrency']>;

/** This gateway's share of a node's slots, at least 1. Each gateway holds `maxRequests` by itself: it does not know of the others. */
export function slotsOf({ maxRequests }: Concurrency): number {
  return maxRequests;
}
