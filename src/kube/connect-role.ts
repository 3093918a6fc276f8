import { type ClientOptions, createKubeClient, type KubeClient } from './client.ts';
import { hasServiceAccountAlone, loadServiceAccount } from './service-account.ts';

/** As `connectKube`, for a process that mostly runs in a pod: the code that reads kubeconfigs is loaded only if there is one. */
export async function connectRole(
  options: ClientOptions & { readonly kubeconfig: string | undefined; readonly context: string | undefined },
): Promise<KubeClient> {
  if (options.kubeconfig === undefined && options.context === undefined && hasServiceAccountAlone()) {
    return createKubeClient(options, loadServiceAccount);
  }
  const { connectKube } = await import('./connect.ts');
  return connectKube(options);
}
