import type { KubeClient } from '../../kube/client.ts';
import { resourcePath } from '../../kube/paths.ts';
import { createObject } from '../../kube/verbs.ts';
import { resourceAddress } from '../../store/resource-address.ts';
import type { Kind } from '../../store/store.ts';
import type { Act } from './declarations.ts';

const verbs: Readonly<Record<Act, string>> = { create: 'create', edit: 'patch', remove: 'delete' };

/** Asks the API server (SelfSubjectAccessReview) whether this user may; says which right is missing where not. */
export async function clusterRefusal(
  client: KubeClient,
  act: Act,
  kind: Kind,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { group, plural } = resourceAddress(kind, namespace);
  const verb = verbs[act];
  const review = await createObject(
    client,
    resourcePath({ group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews' }),
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { group, resource: plural, verb, namespace } },
    },
    { signal },
  );
  const allowed = (review as { status?: { allowed?: unknown } }).status?.allowed;
  return allowed === true
    ? undefined
    : `You may not ${verb} ${plural} in the namespace ${namespace}; ask for the role that allows it.`;
}
