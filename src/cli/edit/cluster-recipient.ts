import { ApiError, isForbidden } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listPages } from '../../kube/list.ts';
import { resourcePath } from '../../kube/paths.ts';
import { getObject } from '../../kube/verbs.ts';
import { errorText } from '../../observe/error-text.ts';
import { sealingSecretName } from '../../store/sealing.ts';
import { DeclarationError } from './declarations.ts';

interface ConfigMap {
  readonly metadata?: { readonly namespace?: string };
  readonly data?: { readonly recipient?: unknown };
}

const remedy = "name the controller's namespace with --home-namespace (or MODEL_GATEWAY_HOME_NAMESPACE)";

/**
 * The age recipient that the controller publishes in its own namespace. Without `homeNamespace`, it is used only if all
 * namespaces that publish one agree: a person who may create ConfigMaps in another namespace could publish a recipient of
 * their own there, and open what is sealed to it. Throws DeclarationError.
 */
export async function clusterRecipient(
  client: KubeClient,
  homeNamespace: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const found =
    homeNamespace === undefined ? await search(client, signal) : await readOne(client, homeNamespace, signal);
  const published = found.flatMap(({ metadata, data }) =>
    typeof data?.recipient === 'string'
      ? [{ namespace: metadata?.namespace ?? '', recipient: data.recipient }]
      : [],
  );
  const [first] = published;
  if (first === undefined) {
    const where = homeNamespace === undefined ? '' : `${homeNamespace}/`;
    throw new DeclarationError(
      'NotFound',
      `The key that credentials are sealed to was not found: no ConfigMap ${where}${sealingSecretName} with an entry "recipient". Is the controller running? If it is, ${remedy}.`,
    );
  }
  if (published.some(({ recipient }) => recipient !== first.recipient)) {
    const namespaces = published.map(({ namespace }) => namespace).sort();
    throw new DeclarationError(
      'NotFound',
      `Several namespaces have a ConfigMap ${sealingSecretName} (${namespaces.join(', ')}), and a person who published one can open what is sealed to it: ${remedy}.`,
    );
  }
  return first.recipient;
}

async function readOne(client: KubeClient, namespace: string, signal: AbortSignal): Promise<ConfigMap[]> {
  const path = resourcePath({ ...configMaps, namespace, name: sealingSecretName });
  try {
    return [(await getObject(client, path, { signal })) as ConfigMap];
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && error.status === 404) return [];
    throw new DeclarationError(
      isForbidden(error) ? 'Forbidden' : 'Unavailable',
      `The ConfigMap ${namespace}/${sealingSecretName}, with the key that credentials are sealed to, cannot be read: ${reasonOf(error)}.`,
    );
  }
}

async function search(client: KubeClient, signal: AbortSignal): Promise<ConfigMap[]> {
  const query = { fieldSelector: `metadata.name=${sealingSecretName}` };
  try {
    const found: ConfigMap[] = [];
    for await (const { items } of listPages(client, { path: resourcePath(configMaps), query, signal })) {
      found.push(...(items as ConfigMap[]));
    }
    return found;
  } catch (error) {
    signal.throwIfAborted();
    throw new DeclarationError(
      isForbidden(error) ? 'Forbidden' : 'Unavailable',
      `The key that credentials are sealed to cannot be searched for, because ConfigMaps of all namespaces could not be listed (${reasonOf(error)}): ${remedy}.`,
    );
  }
}

const configMaps = { group: '', version: 'v1', plural: 'configmaps' };

function reasonOf(error: unknown): string {
  if (error instanceof ApiError) return error.reason;
  return errorText(error).replace(/\.$/, '');
}
