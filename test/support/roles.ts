import { readFile } from 'node:fs/promises';
import type { Cluster } from './cluster.ts';

export async function addServiceAccount(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await cluster.client.ask('POST', path, { body: { metadata: { name } } });
}

/** Applies a Role of test/cluster/rbac in `namespace` and binds it to a ServiceAccount of `home`. @throws when refused */
export async function bindRole(
  cluster: Cluster,
  file: string,
  namespace: string,
  home: string,
  account: string,
): Promise<void> {
  const role = await readFile(new URL(`../cluster/rbac/${file}`, import.meta.url), 'utf8');
  const { applied, message } = await cluster.apply(role, namespace);
  if (!applied) throw new Error(message);
  const name = /^ {2}name: (.+)$/m.exec(role)?.[1] ?? '';
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
  const body = {
    metadata: { name: `${name}-${account}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', namespace: home, name: account }],
  };
  await cluster.client.ask('POST', path, { body });
}
