import { type ClientOptions, createKubeClient, type KubeClient } from './client.ts';
import { type KubeconfigSource, loadKubeconfig } from './kubeconfig.ts';
import { loadServiceAccount } from './service-account.ts';

export interface ConnectOptions extends ClientOptions, KubeconfigSource {
  /** Prefix of the service account's folder; when given, only the pod's service account is used. */
  readonly serviceAccountRoot?: string | undefined;
}

/**
 * Connects to the cluster that the kubeconfig, or the pod's service account, names. Nothing is sent before the first
 * request. Tokens, certificates and CA files are read again as they rotate; credential plugins run when needed.
 *
 * @throws Error when there is no usable configuration, saying what to do
 */
export function connectKube(options: ConnectOptions): KubeClient {
  const { serviceAccountRoot: root } = options;
  return createKubeClient(options, () =>
    root === undefined ? loadKubeconfig(options) : loadServiceAccount(root),
  );
}
