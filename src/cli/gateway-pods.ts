import { ApiError } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { resourcePath } from '../kube/paths.ts';

/** The labels that the chart gives to the pods of a gateway. */
export const gatewayLabels = 'app.kubernetes.io/part-of=model-gateway,app.kubernetes.io/component=gateway';

/** What is read of such a pod. */
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

/**
 * The running pods of gateways, at most `limit`: in all namespaces, or where this user may not list those in `namespace`
 * alone. Throws ApiError.
 */
export async function listGatewayPods(
  client: KubeClient,
  namespace: string,
  limit: number,
  signal: AbortSignal,
): Promise<readonly GatewayPodObject[]> {
  const list = (of: string | undefined): Promise<unknown> =>
    client.request({
      method: 'GET',
      path: resourcePath({ group: '', version: 'v1', plural: 'pods', namespace: of }),
      query: { labelSelector: gatewayLabels, fieldSelector: 'status.phase=Running', limit },
      signal,
    });
  const found = await list(undefined).catch((error: unknown) => {
    if (isForbidden(error)) return list(namespace);
    throw error;
  });
  return (found as { readonly items?: readonly GatewayPodObject[] | null }).items ?? [];
}

/** Whether the API server refused something for want of a right. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}
