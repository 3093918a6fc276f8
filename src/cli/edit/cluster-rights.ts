import { mayAccess } from '../../kube/access-review.ts';
import type { KubeClient } from '../../kube/client.ts';
import { resourceAddress } from '../../store/resource-address.ts';
import type { Kind } from '../../store/store.ts';
import type { Act } from './declarations.ts';

const verbs: Readonly<Record<Act, string>> = { create: 'create', edit: 'patch', remove: 'delete' };

/** Asks the API server whether this user may do something. Returns which permission is missing; undefined if none is. */
export async function clusterRefusal(
  client: KubeClient,
  act: Act,
  kind: Kind,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { group, plural } = resourceAddress(kind, namespace);
  const verb = verbs[act];
  const isAllowed = await mayAccess(client, { group, resource: plural, verb, namespace }, signal);
  return isAllowed
    ? undefined
    : `You may not ${verb} ${plural} in the namespace ${namespace}; ask for the role that allows it.`;
}
