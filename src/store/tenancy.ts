import type { ApiKey } from '../resources/api-key.ts';
import type { MasterKey } from '../resources/master-key.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';

/**
 * Whether a key may use a node (design: Namespaces): a node serves its own namespace; another one only if the node
 * admits it and lives in the home namespace or in one that the key names. Otherwise anybody could attract another
 * team's prompts by a node of a popular model name.
 */
export function mayUse(key: ApiKey | MasterKey, node: UpstreamNode, homeNamespace: string): boolean {
  const { namespace } = node.metadata;
  const caller = key.metadata.namespace;
  if (namespace === caller) return true;
  if (namespace !== homeNamespace && !acceptsNodesOf(key, namespace)) return false;
  const { from, names } = node.spec.callerNamespaces;
  return from === 'All' || (from === 'Names' && (names ?? []).includes(caller));
}

function acceptsNodesOf(key: ApiKey | MasterKey, namespace: string): boolean {
  return key.kind === 'APIKey' && (key.spec.nodeNamespaces ?? []).includes(namespace);
}
