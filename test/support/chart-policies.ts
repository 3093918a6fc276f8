import { expect } from 'vitest';
import { stringify } from 'yaml';
import { render } from './chart.ts';
import type { Cluster } from './cluster.ts';
import type { Helm } from './helm.ts';

const release = 'admission-test';

/** Applies the admission policies of a release in `namespace`, whose accounts are named `mg-model-gateway-ROLE`. */
export async function applyPolicies(
  cluster: Cluster,
  helm: Helm,
  namespace: string,
  values: object = {},
): Promise<void> {
  const names = { commonLabels: { test: namespace }, fullnameOverride: 'mg-model-gateway' };
  const objects = await render(helm, { namespace, values: { ...values, ...names }, release });
  const policies = objects.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'));
  expect(policies.length).toBeGreaterThanOrEqual(4);
  const text = policies.map((policy) => stringify(policy)).join('---\n');
  expect(await cluster.apply(text)).toMatchObject({ applied: true });
}

/** Deletes the policies of one namespace: they apply to the whole cluster, which other test files share. */
export async function deletePolicies(cluster: Cluster, namespace: string): Promise<void> {
  const kinds = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
  await cluster.kubectl(['delete', kinds, '-l', `test=${namespace}`]);
}

/** Creates a ServiceAccount with a Role of its own, and returns the cluster as it sees it. */
export async function accountWith(
  cluster: Cluster,
  namespace: string,
  name: string,
  rules: readonly object[],
): Promise<Cluster> {
  await cluster.client.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, {
    body: { metadata: { name } },
  });
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await cluster.client.ask('POST', `${path}/roles`, { body: { metadata: { name }, rules } });
  await cluster.client.ask('POST', `${path}/rolebindings`, {
    body: {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  });
  return cluster.as({ namespace, name });
}
