import { z } from 'zod';
import { type Cluster, clusterAt } from './cluster.ts';

const uidSchema = z.object({ metadata: z.object({ uid: z.string() }) });

/** The cluster as a pod of a ServiceAccount sees it: the pod is made, and the token is bound to it as the kubelet binds it. */
export async function podToken(
  cluster: Cluster,
  namespace: string,
  account: string,
  pod: string,
): Promise<Cluster> {
  const made = await cluster.client.ask('POST', `/api/v1/namespaces/${namespace}/pods`, {
    body: {
      metadata: { name: pod },
      spec: { serviceAccountName: account, containers: [{ name: 'gateway', image: 'none' }] },
    },
  });
  const { uid } = uidSchema.parse(made).metadata;
  const kubeconfig = await cluster.kubeconfigFor(
    { namespace, name: account },
    { apiVersion: 'v1', kind: 'Pod', name: pod, uid },
  );
  return clusterAt({ ...cluster.address, kubeconfig });
}
