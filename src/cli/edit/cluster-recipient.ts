import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listPages } from '../../kube/list.ts';
import { resourcePath } from '../../kube/paths.ts';
import { getObject } from '../../kube/verbs.ts';
import { sealingSecretName } from '../../store/sealing.ts';
import { DeclarationError } from './declarations.ts';

interface ConfigMap {
  readonly metadata?: { readonly namespace?: string };
  readonly data?: { readonly recipient?: unknown };
}

/**
 * The age recipient that the controller publishes in its own namespace: the given one, else that of the context, else
 * the only one in the cluster that has it. Throws DeclarationError.
 */
export async function clusterRecipient(
  client: KubeClient,
  homeNamespace: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const home = homeNamespace ?? client.namespace();
  const failures: string[] = [];
  const near = await readOne(client, home, signal, failures);
  const found =
    near === undefined && homeNamespace === undefined ? await search(client, signal, failures) : [near];
  const recipients = new Map(
    found.flatMap((each): [string, string][] => {
      const recipient = each?.data?.recipient;
      return typeof recipient === 'string' ? [[each?.metadata?.namespace ?? home, recipient]] : [];
    }),
  );
  const [[, recipient] = ['', undefined], ...others] = recipients;
  if (recipient !== undefined && others.length === 0) return recipient;
  if (recipients.size > 1) {
    throw new DeclarationError(
      'NotFound',
      `Several namespaces have a ConfigMap ${sealingSecretName} (${[...recipients.keys()].join(', ')}); name the controller's with --home-namespace.`,
    );
  }
  const why = failures.length === 0 ? 'is the controller running?' : `${failures.join('; ')}.`;
  throw new DeclarationError(
    'NotFound',
    `The key that credentials are sealed to was not found: no ConfigMap ${home}/${sealingSecretName} with an entry "recipient"; name the controller's namespace with --home-namespace. (${why})`,
  );
}

async function readOne(client: KubeClient, namespace: string, signal: AbortSignal, failures: string[]) {
  const path = resourcePath({ ...configMaps, namespace, name: sealingSecretName });
  return getObject(client, path, { signal }).then(
    (object) => object as ConfigMap,
    (error: unknown) => note(error, signal, failures, `namespace ${namespace}`),
  );
}

async function search(client: KubeClient, signal: AbortSignal, failures: string[]): Promise<ConfigMap[]> {
  const query = { fieldSelector: `metadata.name=${sealingSecretName}` };
  try {
    const found: ConfigMap[] = [];
    for await (const { items } of listPages(client, { path: resourcePath(configMaps), query, signal })) {
      found.push(...(items as ConfigMap[]));
    }
    return found;
  } catch (error) {
    note(error, signal, failures, 'all namespaces');
    return [];
  }
}

const configMaps = { group: '', version: 'v1', plural: 'configmaps' };

function note(error: unknown, signal: AbortSignal, failures: string[], where: string): undefined {
  signal.throwIfAborted();
  if (error instanceof ApiError && error.status === 404) return undefined;
  const reason = error instanceof ApiError ? error.reason : String(error);
  failures.push(`ConfigMaps of ${where}: ${reason}`);
  return undefined;
}
