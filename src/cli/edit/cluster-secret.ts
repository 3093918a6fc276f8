import { ApiError, isForbidden } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { resourcePath } from '../../kube/paths.ts';
import { getObject } from '../../kube/verbs.ts';
import { DeclarationError } from './declarations.ts';

/** The text of an entry of a Secret of a cluster; undefined if there is none. Throws DeclarationError. */
export async function clusterSecretEntry(
  client: KubeClient,
  secret: { readonly namespace: string; readonly name: string },
  entry: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = resourcePath({ group: '', version: 'v1', plural: 'secrets', ...secret });
  try {
    const { data } = (await getObject(client, path, { signal })) as { data?: Record<string, unknown> };
    const value = data?.[entry];
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && error.status === 404) return undefined;
    const reason = error instanceof ApiError ? error.reason : 'the API server gave no answer';
    throw new DeclarationError(
      isForbidden(error) ? 'Forbidden' : 'Unavailable',
      `The Secret ${secret.namespace}/${secret.name} cannot be read: ${reason}.`,
    );
  }
}
