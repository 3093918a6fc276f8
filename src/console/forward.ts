import { DeclarationError } from '../cli/edit/declarations.ts';
import { type GatewayPodObject, listGatewayPods } from '../cli/gateway-pods.ts';
import { mayAccess } from '../kube/access-review.ts';
import { isForbidden } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { SharedKubeConfig } from '../kube/kubeconfig.ts';
import { type ForwardedPort, forwardPort } from '../kube/port-forward.ts';
import { errorText } from '../observe/error-text.ts';
import { gatewayLabels } from '../resources/pod-labels.ts';
import { gatewayConnections } from './gateway-connections.ts';
import type { Reach } from './try-route.ts';

const mostPods = 100;
const remedy = 'Or start the console with --gateway-url URL.';
const named =
  "Start the console with --home-namespace NAME, where the gateway's pods run, or with --gateway-url URL.";

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
}

/**
 * Reaches a gateway of the cluster over the API server, with the user's own permissions. A pod is found by its labels, in
 * `namespace`, else in the only namespace of the cluster that has such a pod. Anybody can set labels, and a caller's key is
 * sent to the pod: if several namespaces have one, or if not all can be listed, `namespace` is required. `caFile` is trusted
 * if the gateway serves HTTPS. Throws DeclarationError that says what is missing.
 */
export function reachByForward(
  client: KubeClient,
  config: SharedKubeConfig,
  namespace: string | undefined,
  caFile: string | undefined,
  signal: AbortSignal,
): Reach {
  const connections = gatewayConnections({ caFile, byName: false });
  const forwarded = new Map<string, Promise<ForwardedPort>>();
  return async (asking) => {
    const pod = await gatewayPod(client, namespace, asking);
    await mayForward(client, pod.namespace, asking);
    const id = `${pod.namespace}/${pod.name}:${pod.port}`;
    const opened = forwarded.get(id) ?? forwardPort(config, pod, signal);
    forwarded.set(id, opened);
    opened.catch(() => forwarded.delete(id));
    const { port, failure } = await opened;
    return {
      baseURL: `${pod.scheme}://127.0.0.1:${port}/v1`,
      shown: `the pod ${pod.namespace}/${pod.name}`,
      dispatcher: await connections(),
      why: () => failure(),
    };
  };
}

async function gatewayPod(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Pod> {
  const found = await listed(client, namespace, signal);
  const pods = found.flatMap(podOf);
  const namespaces = [...new Set(pods.map((pod) => pod.namespace))].sort();
  // A truncated list might lack the gateway and hold other pods with its labels.
  if (namespaces.length > 1 || (namespace === undefined && found.length >= mostPods)) {
    throw new DeclarationError(
      'Unavailable',
      `Pods of gateways run in several namespaces (${namespaces.join(', ')}), and the key would go to one of them. ${named}`,
    );
  }
  const [pod] = pods.sort((one, other) => Number(other.isReady) - Number(one.isReady));
  if (pod !== undefined) return pod;
  const where = namespace === undefined ? 'here' : `in the namespace ${namespace}`;
  throw new DeclarationError(
    'Unavailable',
    `No pod of a gateway runs ${where} (labels ${gatewayLabels}). Install one. ${remedy}`,
  );
}

async function listed(client: KubeClient, namespace: string | undefined, signal: AbortSignal) {
  try {
    return await listGatewayPods(client, namespace, mostPods, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isForbidden(error)) {
      throw new DeclarationError(
        'Forbidden',
        namespace === undefined
          ? `You may not list pods in all namespaces, so the gateway cannot be identified. ${named}`
          : `You may not list pods in ${namespace}, so no gateway can be found. Ask for that permission. ${remedy}`,
      );
    }
    const reason = errorText(error);
    throw new DeclarationError('Unavailable', `The gateways cannot be listed: ${reason}. ${remedy}`);
  }
}

function podOf({ metadata, spec, status }: GatewayPodObject): (Pod & { readonly isReady: boolean })[] {
  const { namespace, name } = metadata ?? {};
  if (namespace === undefined || name === undefined) return [];
  const containers = spec?.containers ?? [];
  const ports = containers.flatMap((container) => container.ports ?? []);
  const servesTls = containers.some(({ args = [] }) => args.some((arg) => arg.startsWith('--tls-cert')));
  const port = ports.find((each) => each.name !== 'admin')?.containerPort ?? 8080;
  const isReady = (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');
  return [{ namespace, name, port, scheme: servesTls ? 'https' : 'http', isReady }];
}

/** Asked first, because a refused connection does not say which permission is missing. */
async function mayForward(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const access = { resource: 'pods', subresource: 'portforward', verb: 'create', namespace };
  if (await mayAccess(client, access, signal)) return;
  throw new DeclarationError(
    'Forbidden',
    `You may not create pods/portforward in the namespace ${namespace}, which is needed to reach a gateway. Ask for that permission, and for get. ${remedy}`,
  );
}
