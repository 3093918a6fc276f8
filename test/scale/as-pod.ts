import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Cluster } from '../support/cluster.ts';
import type { RoleOptions } from '../support/processes.ts';

const folderInPod = '/var/run/secrets/kubernetes.io/serviceaccount';
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });
const account = { namespace: 'kube-system', name: 'scale' };

/**
 * How to start a role as a pod has it, with a service account and no kubeconfig: what reads kubeconfigs takes memory that
 * no pod needs. Undefined where that cannot be done here (needs Linux and root); roles get the admin's kubeconfig then.
 */
export async function asPod(cluster: Cluster): Promise<Pick<RoleOptions, 'under' | 'env'> | undefined> {
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return undefined;
  const { client, address } = cluster;
  const { namespace, name } = account;
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await client.send('POST', accounts, { body: { metadata: { name } } });
  await client.send('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    body: {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  });
  const body = { spec: { expirationSeconds: 86_400 } };
  const answer = await client.ask('POST', `${accounts}/${name}/token`, { body });
  const folder = join(address.folder, 'service-account');
  await mkdir(folder, { recursive: true });
  const files = { token: tokenSchema.parse(answer).status.token, 'ca.crt': address.ca, namespace: 'none' };
  for (const [file, text] of Object.entries(files))
    await writeFile(join(folder, file), text, { mode: 0o600 });
  // A mount namespace of its own: the machine does not see it.
  const script = `mount -t tmpfs none /var/run && mkdir -p ${folderInPod} && mount --bind "$0" ${folderInPod} && exec "$@"`;
  const { hostname, port } = new URL(address.url);
  return {
    under: ['unshare', '--mount', 'sh', '-c', script, folder],
    env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, HOME: '/nonexistent' },
  };
}
