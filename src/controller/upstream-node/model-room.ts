import type { UpstreamNode } from '../../resources/upstream-node.ts';

/** Each gateway keeps all statuses in memory. */
export const mostModelBytes = 640 * 1_024;
/** Some models must fit, or the node would serve none. */
const leastBytes = 16 * 1_024;
/** The largest request that etcd takes, without room for conditions and other metadata. */
const objectBytes = 1_536 * 1_024 - 128 * 1_024;
/** The API server repeats names of the spec in `managedFields`, to note who owns them. */
const copiesOfSpec = 2;

/**
 * How many bytes the models of a node's status may take, so that the object fits into etcd beside its spec. Otherwise every write
 * of the status would fail, and no condition could say so.
 */
export function modelRoom({ spec, metadata }: Pick<UpstreamNode, 'spec' | 'metadata'>): number {
  const taken = copiesOfSpec * bytesOf(spec) + bytesOf(metadata.annotations ?? {});
  return Math.min(mostModelBytes, Math.max(leastBytes, objectBytes - taken));
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}
