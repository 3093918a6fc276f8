import type { KubeClient } from '../kube/client.ts';
import { resourcePath } from '../kube/paths.ts';
import { gatewayLabels } from '../resources/pod-labels.ts';

/** The fields of a pod that are read here. */
export interface GatewayPodObject {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: {
    readonly containers?: readonly {
      readonly args?: readonly string[];
      readonly ports?: readonly { readonly name?: string; readonly containerPort?: number }[];
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** The running pods of gateways, at most `limit`, in one namespace or in all. Throws ApiError. */
export async function listGatewayPods(
  client: KubeClient,
  namespace: string | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<readonly GatewayPodObject[]> {
  const found = await client.request({
    method: 'GET',
    path: resourcePath({ group: '', version: 'v1', plural: 'pods', namespace }),
    query: { labelSelector: gatewayLabels, fieldSelector: 'status.phase=Running', limit },
    signal,
  });
  return (found as { readonly items?: readonly GatewayPodObject[] | null }).items ?? [];
}
