import { eventually } from '../support/eventually.ts';
import type { KindCluster } from './kind-cluster.ts';

/** The kubelet runs what lies in the first folder, and stops what no longer does. */
const manifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const aside = '/etc/kubernetes/kube-apiserver.yaml';
/** The kubelet looks every 20 s, and gives a pod 30 s to end. */
const switchMs = 180_000;

/**
 * Stops the API server of the cluster, does something, and starts it again, whatever came of it. Answers when all nodes
 * are ready again. @throws what `meanwhile` throws, or when the API server does not stop or come back within 3 minutes
 */
export async function withoutApiServer<T>(
  { kubectl, onControlPlane }: Pick<KindCluster, 'kubectl' | 'onControlPlane'>,
  meanwhile: () => Promise<T>,
): Promise<T> {
  const answers = () =>
    kubectl(['get', '--raw=/readyz', '--request-timeout=3s']).then(
      () => true,
      () => false,
    );
  await onControlPlane(['mv', manifest, aside]);
  try {
    await eventually('the API server stops', async () => !(await answers()), switchMs, 1_000);
    return await meanwhile();
  } finally {
    await onControlPlane(['mv', aside, manifest]);
    await eventually('the API server is back', answers, switchMs, 1_000);
    await kubectl(['wait', '--for=condition=Ready', 'node', '--all', '--timeout=3m']);
  }
}
