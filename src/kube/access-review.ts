import type { KubeClient } from './client.ts';
import { resourcePath } from './paths.ts';
import { createObject } from './verbs.ts';

/** An action in RBAC's terms; without a group, the core group. */
export interface Access {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace: string;
}

/** Asks the API server whether the client's user has the permission (SelfSubjectAccessReview). Throws ApiError. */
export async function mayAccess(client: KubeClient, access: Access, signal: AbortSignal): Promise<boolean> {
  const review = await createObject(
    client,
    resourcePath({ group: 'authorization.k8s.io', version: 'v1', plural: 'selfsubjectaccessreviews' }),
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: access },
    },
    { signal },
  );
  return (review as { status?: { allowed?: unknown } }).status?.allowed === true;
}
