import type { ApiKey } from '../resources/api-key.ts';
import type { MasterKey } from '../resources/master-key.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';

/** The side that does not allow a key to use a node of another namespace. */
export type Disagreement = 'node' | 'key' | 'both';

/**
 * Whether a key may use a node. A node serves its own namespace. It serves another one only if the node admits that one,
 * and the node is in the home namespace or in one that the key names. Otherwise anybody could attract another team's
 * prompts with a node that has a popular model name.
 */
export function mayUse(key: ApiKey | MasterKey, node: UpstreamNode, homeNamespace: string): boolean {
  return disagreement(key, node, homeNamespace) === undefined;
}

/** The side that keeps a key from using a node; undefined if it may use it. */
export function disagreement(
  key: ApiKey | MasterKey,
  node: UpstreamNode,
  homeNamespace: string,
): Disagreement | undefined {
  const { namespace } = node.metadata;
  const caller = key.metadata.namespace;
  if (namespace === caller) return undefined;
  const { from, names } = node.spec.callerNamespaces;
  const nodeAdmits = from === 'All' || (from === 'Names' && (names ?? []).includes(caller));
  if (namespace === homeNamespace || acceptsNodesOf(key, namespace)) return nodeAdmits ? undefined : 'node';
  return nodeAdmits ? 'key' : 'both';
}

function acceptsNodesOf(key: ApiKey | MasterKey, namespace: string): boolean {
  return key.kind === 'APIKey' && (key.spec.nodeNamespaces ?? []).includes(namespace);
}
