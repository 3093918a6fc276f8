import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type ApiClient, apiClient } from './api-client.ts';
import type { ControlPlaneAddress } from './control-plane.ts';
import { waitUntilServed } from './crd-served.ts';
import { runKubectl } from './kubectl.ts';
import type { Ended } from './run-to-end.ts';

/** What came of `kubectl apply`; `message` is what the user would see: the object's name, or the server's refusal. */
interface ApplyOutcome {
  applied: boolean;
  message: string;
}

/** What a token is bound to: it is valid while that exists. */
interface BoundObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

interface ServiceAccountName {
  namespace: string;
  name: string;
}

/** A cluster as a test sees it. */
export interface Cluster {
  readonly address: ControlPlaneAddress;
  /** Past kubectl: quick, and with the server's own status codes. The admin, unless `as` has named another. */
  readonly client: ApiClient;
  /** Makes a namespace of its own for a test and returns its name, `<prefix>-<random>`. */
  newNamespace(prefix: string): Promise<string>;
  /** Installs the product's CRDs (`crds/*.yaml`) unless that was done, and waits until the server serves them. */
  applyCrds(): Promise<void>;
  kubectl(kubectlArguments: readonly string[], input?: string): Promise<Ended>;
  /** Server-side apply of a manifest by kubectl; unknown fields are refused. */
  apply(manifest: string, namespace?: string): Promise<ApplyOutcome>;
  /** The same cluster as that ServiceAccount sees it; `address.kubeconfig` is its kubeconfig. */
  as(serviceAccount: ServiceAccountName): Promise<Cluster>;
  /** A short-lived token of a ServiceAccount in a kubeconfig file of mode 0600; returns its path. */
  kubeconfigFor(serviceAccount: ServiceAccountName, boundTo?: BoundObject): Promise<string>;
}

/** The control plane that all test files of this run share: work in a namespace of your own, never stop it. */
export function sharedCluster(): Cluster {
  return clusterAt(inject('controlPlane'));
}

/** The same helpers for a control plane that a test has started for itself. */
export function clusterAt(address: ControlPlaneAddress): Cluster {
  const client = apiClient(address);
  const kubectl = (kubectlArguments: readonly string[], input?: string) =>
    runKubectl(address, kubectlArguments, input);
  let crdsApplied: Promise<void> | undefined;
  return {
    address,
    client,
    kubectl,
    newNamespace: async (prefix) => {
      const name = `${prefix}-${randomBytes(4).toString('hex')}`;
      await client.ask('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
      return name;
    },
    applyCrds: () => {
      crdsApplied ??= applyFolder(fileURLToPath(new URL('../../crds', import.meta.url)), kubectl, client);
      return crdsApplied;
    },
    apply: async (manifest, namespace) => {
      const where = namespace === undefined ? [] : ['--namespace', namespace];
      const flags = ['--server-side', '--field-manager=test', '--validate=strict', ...where];
      const { code, stdout, stderr } = await kubectl(['apply', ...flags, '-f', '-'], manifest);
      return { applied: code === 0, message: (code === 0 ? stdout : stderr).trim() };
    },
    as: async (serviceAccount) =>
      clusterAt({ ...address, kubeconfig: await writeKubeconfig(address, client, serviceAccount) }),
    kubeconfigFor: (serviceAccount, boundTo) => writeKubeconfig(address, client, serviceAccount, boundTo),
  };
}

async function applyFolder(folder: string, kubectl: Cluster['kubectl'], client: ApiClient): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
  if (names.length === 0) throw new Error(`${folder} holds no CRDs; run \`npm run generate\``);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  // Several test files do this at once: the same apply by the same manager changes nothing the second time.
  const flags = ['--server-side', '--force-conflicts', '--field-manager=test-crds'];
  const { code, stderr } = await kubectl(['apply', ...flags, '-f', '-'], texts.join('\n---\n'));
  if (code !== 0) throw new Error(`kubectl apply -f crds: ${stderr}`);
  await waitUntilServed(client, texts);
}

const tokenSchema = z.object({ status: z.object({ token: z.string() }) });

async function writeKubeconfig(
  address: ControlPlaneAddress,
  client: ApiClient,
  { namespace, name }: ServiceAccountName,
  boundObjectRef?: BoundObject,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const answer = await client.ask('POST', path, {
    body: { spec: { expirationSeconds: 3_600, boundObjectRef } },
  });
  const { token } = tokenSchema.parse(answer).status;
  const authority = Buffer.from(address.ca).toString('base64');
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: address.url, 'certificate-authority-data': authority } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
    'current-context': 'test',
  });
  const file = join(address.folder, `${namespace}-${name}-${randomBytes(4).toString('hex')}.kubeconfig`);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
