import type { NodeEntry } from '../store/store.ts';

/** A status older than this is out of date: the node is not demoted for its phase. */
const staleStatusMs = 15 * 60_000;

/** Whether the phase of a node makes it a last resort; `nowMs` is in milliseconds since 1970. */
export function isDemoted(node: Pick<NodeEntry, 'resource' | 'checkedAtMs'>, nowMs: number): boolean {
  const phase = node.resource.status?.phase;
  return (phase === 'error' || phase === 'offline') && nowMs - node.checkedAtMs <= staleStatusMs;
}
