import type { ApiKey } from '../../resources/api-key.ts';
import type { NodeEntry, View } from '../../store/store.ts';

/**
 * The names of the allowlist that no node serves which the key may use; undefined without an allowlist. A disabled node
 * or model counts as serving: the condition is there to find names that are wrong.
 */
export function missingModels(
  key: ApiKey,
  view: Pick<View, 'served'>,
  homeNamespace: string,
): string[] | undefined {
  return key.spec.models?.filter(
    (name) => !(view.served(name)?.candidates ?? []).some(({ node }) => mayUse(key, node, homeNamespace)),
  );
}

/** Whether the node may serve the key (design §5): both sides agree, or it is the key's own namespace. */
function mayUse(key: ApiKey, { resource: node }: NodeEntry, homeNamespace: string): boolean {
  const caller = key.metadata.namespace;
  const { namespace } = node.metadata;
  if (namespace === caller) return true;
  const { from, names = [] } = node.spec.callerNamespaces;
  if (from !== 'All' && !(from === 'Names' && names.includes(caller))) return false;
  return namespace === homeNamespace || (key.spec.nodeNamespaces ?? []).includes(namespace);
}
