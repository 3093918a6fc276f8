import { DeclarationError } from '../cli/edit/declarations.ts';
import { type GatewayPodObject, gatewayLabels, isForbidden, listGatewayPods } from '../cli/gateway-pods.ts';
import { mayAccess } from '../kube/access-review.ts';
import type { KubeClient } from '../kube/client.ts';
import type { SharedKubeConfig } from '../kube/kubeconfig.ts';
import { type ForwardedPort, forwardPort } from '../kube/port-forward.ts';
import { gatewayConnections } from './gateway-connections.ts';
import type { Reach } from './try-route.ts';

const mostPods = 100;
const remedy = 'Or start the console with --gateway-url URL.';

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
}

/**
 * Reaches a gateway of the cluster over the API server, with the user's own rights: a pod is found by its labels, in all
 * namespaces or, where that is not allowed, in `namespace`. `caFile` is trusted where it serves HTTPS. Throws
 * DeclarationError with the right that is missing.
 */
export function reachByForward(
  client: KubeClient,
  config: SharedKubeConfig,
  namespace: string,
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

async function gatewayPod(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Pod> {
  try {
    const pods = (await listGatewayPods(client, namespace, mostPods, signal)).flatMap(podOf);
    const [pod] = pods.sort((one, other) => Number(other.isReady) - Number(one.isReady));
    if (pod !== undefined) return pod;
  } catch (error) {
    signal.throwIfAborted();
    if (isForbidden(error)) {
      throw new DeclarationError(
        'Forbidden',
        `You may not list pods, neither in all namespaces nor in ${namespace}, so no gateway is found to try. Ask for that right. ${remedy}`,
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new DeclarationError('Unavailable', `The gateways cannot be looked for: ${reason}. ${remedy}`);
  }
  throw new DeclarationError(
    'Unavailable',
    `No pod of a gateway runs here (labels ${gatewayLabels}). Install one. ${remedy}`,
  );
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

/** Asked beforehand: a connection that is refused does not say which right it lacks. */
async function mayForward(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const access = { resource: 'pods', subresource: 'portforward', verb: 'create', namespace };
  if (await mayAccess(client, access, signal)) return;
  throw new DeclarationError(
    'Forbidden',
    `You may not create pods/portforward in the namespace ${namespace}, by which a gateway is reached. Ask for that right (get, too). ${remedy}`,
  );
}
