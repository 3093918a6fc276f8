import type { Registry } from 'prom-client';
import { registerCollected } from './collected-metric.ts';

/**
 * Whether this installation acts in a namespace. `Held`: it does. `Other`: another one does. `Unguarded`: it does, but the API
 * server refuses the Lease that would keep others out. `Pending`: it does not, because the Lease could not be read or renewed.
 */
export const claimStates = ['Held', 'Other', 'Unguarded', 'Pending'] as const;
export type ClaimState = (typeof claimStates)[number];

export interface ClaimMetrics {
  /** Registers the states, which are read at each scrape. */
  observe(read: () => Iterable<ClaimState>): void;
}

/** Registers the metric of the namespaces that the leading controller claims. */
export function createClaimMetrics(registry: Registry): ClaimMetrics {
  let states: () => Iterable<ClaimState> = () => [];
  registerCollected(
    registry,
    {
      name: 'modelgateway_controller_namespaces',
      help: 'Namespaces with objects, as the leading controller sees them: Held (it acts there), Other (another installation does), Unguarded (it acts, but may not use the Lease), Pending.',
      type: 'gauge',
      labelNames: ['claim'],
    },
    function* () {
      const counts = new Map<ClaimState, number>(claimStates.map((claim) => [claim, 0]));
      for (const state of states()) counts.set(state, (counts.get(state) ?? 0) + 1);
      for (const [claim, value] of counts) yield { labels: { claim }, value };
    },
  );
  return {
    observe(read) {
      states = read;
    },
  };
}
