import { beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { crds } from '../../src/resources/crd.ts';
import { sharedCluster } from '../support/cluster.ts';
import { kubernetesMinor } from '../support/control-plane/binaries.ts';
import { waitUntilServed } from '../support/crd-served.ts';
import { eventually } from '../support/eventually.ts';

// A release may tighten a bound. Objects that were valid before must then still take changes of their other fields and
// of their status ("ratcheting", Kubernetes 1.33 and newer; 1.30 to 1.32 refuse them until they are mended). Tried on
// copies of the CRD in a group of their own, because all test files share the real ones.

const cluster = sharedCluster();
const group = 'upgrade.example.com';
const name = `upstreamnodes.${group}`;
const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
let node = '';

type Loose = { maximum?: number; 'x-kubernetes-validations'?: unknown };

function copy(loosen: boolean): object {
  const real = crds().find(({ spec }) => spec.names.kind === 'UpstreamNode');
  const crd = structuredClone(real);
  if (crd === undefined) throw new Error('There is no CRD for UpstreamNode');
  const fields: Record<string, Loose> =
    crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec']?.properties ?? {};
  if (loosen) {
    delete fields['priority']?.maximum;
    delete fields['baseURL']?.['x-kubernetes-validations'];
  }
  const names = { ...crd.spec.names, shortNames: [], categories: [] };
  return { ...crd, metadata: { name }, spec: { ...crd.spec, group, names } };
}

async function install(crd: object): Promise<void> {
  const { status } = await cluster.client.send('PATCH', `${definition}?fieldManager=test&force=true`, {
    contentType: 'application/apply-patch+yaml',
    body: crd,
  });
  expect([200, 201]).toContain(status);
  await waitUntilServed(cluster.client, [stringify(crd)]);
}

beforeAll(async () => {
  const namespace = await cluster.newNamespace('upgrade');
  const nodes = `/apis/${group}/v1alpha1/namespaces/${namespace}/upstreamnodes`;
  await install(copy(true));
  const old = { metadata: { name: 'old' }, spec: { baseURL: 'ftp://old.example', priority: 500 } };
  await cluster.client.ask('POST', nodes, {
    body: { apiVersion: `${group}/v1alpha1`, kind: 'UpstreamNode', ...old },
  });
  node = `${nodes}/old`;
  await install(copy(false));
  await eventually('the tightened schema is in force', async () => {
    const body = { spec: { priority: 501 } };
    return (await cluster.client.send('PATCH', `${node}?dryRun=All`, { body })).status === 422;
  });
});

test.skipIf(kubernetesMinor() < 33)(
  'an object from before a tightened bound takes changes of other fields and of its status',
  async () => {
    await cluster.client.ask('PATCH', node, { body: { spec: { displayName: 'New', weight: 1 } } });
    await cluster.client.ask('PATCH', `${node}/status`, { body: { status: { observedGeneration: 2 } } });
  },
);

test('the changed field itself must be valid', async () => {
  for (const spec of [{ priority: 101 }, { baseURL: 'ftp://new.example' }]) {
    expect((await cluster.client.send('PATCH', node, { body: { spec } })).status).toBe(422);
  }
  await cluster.client.ask('PATCH', node, {
    body: { spec: { priority: 100, baseURL: 'https://a.example/v1' } },
  });
});
