import type { NodeEntry } from '../store/store.ts';

/** What is known of the requests that one gateway has under way. */
export interface LoadStates {
  /** How many there are at a node now. */
  underWay(nodeId: string): number;
  /** How many there were on average in the last half minute. */
  mean(nodeId: string): number;
  /** Whether a node has as many as its `spec.concurrency` allows. */
  isFull(node: NodeEntry): boolean;
}
