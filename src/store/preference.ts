import type { Candidate } from './store.ts';

/** How much a candidate is preferred, 0 to 100: its model's own priority, else its node's. */
export function priorityOf({ node, priority }: Candidate): number {
  return priority ?? node.resource.spec.priority;
}

/** A candidate's share within one priority, 1 to 100: its model's own weight, else its node's. */
export function weightOf({ node, weight }: Candidate): number {
  return weight ?? node.resource.spec.weight;
}
