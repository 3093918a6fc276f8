import { DeclarationError } from '../cli/edit/declarations.ts';
import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { SharedKubeConfig } from '../kube/kubeconfig.ts';
import { resourcePath } from '../kube/paths.ts';
import { type ForwardedPort, forwardPort } from '../kube/port-forward.ts';
import { createObject } from '../kube/verbs.ts';
import type { Reach } from './try-route.ts';

const labelSelector = 'app.kubernetes.io/part-of=model-gateway,app.kubernetes.io/component=gateway';
const remedy = 'Or start the console with --gateway-url URL.';

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/**
 * Reaches a gateway of the cluster over the API server, with the user's own rights: a pod is found by its labels, in all
 * namespaces or, where that is not allowed, in `namespace`. Throws DeclarationError with the right that is missing.
 */
export function reachByForward(
  client: KubeClient,
  config: SharedKubeConfig,
  namespace: string,
  signal: AbortSignal,
): Reach {
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
      baseURL: `http://127.0.0.1:${port}/v1`,
      shown: `the pod ${pod.namespace}/${pod.name}`,
      why: () => failure(),
    };
  };
}

async function gatewayPod(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Pod> {
  const list = (of: string | undefined): Promise<unknown> =>
    client.request({
      method: 'GET',
      path: resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: of }),
      query: { labelSelector, fieldSelector: 'status.phase=Running', limit: 100 },
      signal,
    });
  try {
    const found = await list(undefined).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return list(namespace);
      throw error;
    });
    const pods = ((found as { readonly items?: readonly PodObject[] | null }).items ?? []).flatMap(podOf);
    const [pod] = pods.sort((one, other) => Number(other.isReady) - Number(one.isReady));
    if (pod !== undefined) return pod;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && error.status === 403) {
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
    `No pod of a gateway runs here (labels ${labelSelector}). Install one. ${remedy}`,
  );
}

interface PodObject {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: {
    readonly containers?: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort?: number }[];
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function podOf({ metadata, spec, status }: PodObject): (Pod & { readonly isReady: boolean })[] {
  const { namespace, name } = metadata ?? {};
  if (namespace === undefined || name === undefined) return [];
  const ports = (spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const port = ports.find((each) => each.name !== 'admin')?.containerPort ?? 8080;
  const isReady = (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');
  return [{ namespace, name, port, isReady }];
}

/** Asked beforehand: a connection that is refused does not say which right it lacks. */
async function mayForward(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const review = await createObject(
    client,
    resourcePath({ group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews' }),
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: { resource: 'pods', subresource: 'portforward', verb: 'create', namespace },
      },
    },
    { signal },
  );
  if ((review as { status?: { allowed?: unknown } }).status?.allowed === true) return;
  throw new DeclarationError(
    'Forbidden',
    `You may not create pods/portforward in the namespace ${namespace}, by which a gateway is reached. Ask for that right (get, too). ${remedy}`,
  );
}
