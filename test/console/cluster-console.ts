import type { Cluster } from '../support/cluster.ts';
import { type Program, startProgram } from '../support/program.ts';
import { addServiceAccount } from '../support/roles.ts';

/** Starts `model-gateway console` with one person's kubeconfig; `address` opens it once. */
export async function startClusterConsole(
  kubeconfig: string,
  flags: readonly string[] = [],
): Promise<Program & { readonly address: string }> {
  const program = startProgram({ args: ['console', '--kubeconfig', kubeconfig, '--no-open', ...flags] });
  const address = (): string | undefined => /^http\S+$/m.exec(program.stdout())?.[0];
  await program.until('the console serves', () => address() !== undefined);
  return { ...program, address: address() ?? '' };
}

/**
 * A person of a namespace, with a Role of these verbs on our kinds, and of `more`, in each of the namespaces. Answers
 * their kubeconfig.
 */
export async function addPerson(
  cluster: Cluster,
  name: string,
  namespaces: readonly string[],
  verbs: readonly string[],
  more: readonly object[] = [],
): Promise<string> {
  const [home = ''] = namespaces;
  await addServiceAccount(cluster, home, name);
  for (const namespace of namespaces) {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const rules = [
      { apiGroups: ['modelgateway.dev'], resources: ['upstreamnodes', 'apikeys', 'masterkeys'], verbs },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
      ...more,
    ];
    await cluster.client.ask('POST', `${path}/roles`, { body: { metadata: { name }, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const subjects = [{ kind: 'ServiceAccount', namespace: home, name }];
    await cluster.client.ask('POST', `${path}/rolebindings`, {
      body: { metadata: { name }, roleRef, subjects },
    });
  }
  return cluster.kubeconfigFor({ namespace: home, name });
}
