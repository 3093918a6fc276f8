import type { KubeClient } from '../kube/client.ts';
import { resourcePath } from '../kube/paths.ts';
import { createObject } from '../kube/verbs.ts';
import type { PageKind, Right, Rights } from './shapes.ts';

/** What the person who runs the console may do in a namespace. */
export type RightsOf = (namespace: string, signal: AbortSignal) => Promise<Rights>;

const plurals: Readonly<Record<PageKind, string>> = {
  UpstreamNode: 'upstreamnodes',
  APIKey: 'apikeys',
  MasterKey: 'masterkeys',
};
const verbs = { create: 'create', edit: 'patch', delete: 'delete' } as const;

/** In a folder whoever may start the console may do everything. */
export const everyRight: RightsOf = async () => rightsFrom(async () => true);

/** In a cluster the API server is asked (SelfSubjectAccessReview). It judges again at each edit. */
export function clusterRights(client: KubeClient): RightsOf {
  const path = resourcePath({
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
  });
  return (namespace, signal) =>
    rightsFrom(async (kind, act) => {
      const verb = verbs[act];
      const resource = plurals[kind];
      const review = await createObject(
        client,
        path,
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { group: 'modelgateway.dev', resource, verb, namespace } },
        },
        { signal },
      );
      const { allowed } = (review as { status?: { allowed?: unknown } }).status ?? {};
      return (
        allowed === true || `Your rights in the namespace ${namespace} do not include ${verb} on ${resource}.`
      );
    });
}

async function rightsFrom(may: (kind: PageKind, act: keyof typeof verbs) => Promise<Right>): Promise<Rights> {
  const of = async (kind: PageKind): Promise<Rights[PageKind]> => {
    const [create, edit, remove] = await Promise.all([
      may(kind, 'create'),
      may(kind, 'edit'),
      may(kind, 'delete'),
    ]);
    return { create, edit, delete: remove };
  };
  const [UpstreamNode, APIKey, MasterKey] = await Promise.all([
    of('UpstreamNode'),
    of('APIKey'),
    of('MasterKey'),
  ]);
  return { UpstreamNode, APIKey, MasterKey };
}
