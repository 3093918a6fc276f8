import { type ClientOptions, createKubeClient, type KubeClient } from './client.ts';
import type { KubeconfigSource } from './kubeconfig.ts';
import { hasServiceAccountAlone, loadServiceAccount } from './service-account.ts';

/**
 * Connects to the cluster that the flags name; without flags and without a kubeconfig, to the cluster of this pod. Nothing is
 * sent before the first request. A pod does not load the code that reads kubeconfigs, and the image does not hold it.
 *
 * @throws Error when there is no usable configuration, saying what to do
 */
export async function connectToCluster(options: ClientOptions & KubeconfigSource): Promise<KubeClient> {
  const { kubeconfig, context, server, token, as } = options;
  const isPodsOwn = [kubeconfig, context, server, token, as].every((flag) => flag === undefined);
  if (isPodsOwn && hasServiceAccountAlone()) return createKubeClient(options, loadServiceAccount);
  const { connectKube } = await importReader();
  return connectKube(options);
}

async function importReader(): Promise<typeof import('./connect.ts')> {
  try {
    return await import('./connect.ts');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new Error(
      'kubeconfigs cannot be read here: the package @kubernetes/client-node is not installed. The image leaves it out, because ' +
        'a pod uses its service account; use the npm package (npx model-gateway), or run in a pod without kubeconfig flags',
      { cause: error },
    );
  }
}
