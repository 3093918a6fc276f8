import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWith, applyPolicies, deletePolicies } from '../support/chart-policies.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Helm, startHelm } from '../support/helm.ts';

// What the controller's token may write to Secrets, and who may delete the sealing Secret. Requests are dry runs.
let cluster: Cluster;
let helm: Helm;
let home: string;
let controller: Cluster;
let other: Cluster;

const owner = (uid: string, kind = 'APIKey', name = 'a') => ({
  apiVersion: 'modelgateway.dev/v1alpha1',
  ...{ kind, name, uid, controller: true },
});
const secret = (name: string, more: { metadata?: object; data?: object; type?: string } = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', type: more.type ?? 'Opaque', data: more.data ?? { apiKey: 'YQ==' } },
  metadata: { name, ...more.metadata },
});
const ofKey = (name: string, uid = 'u1', more: Parameters<typeof secret>[1] = {}) =>
  secret(name, {
    ...more,
    metadata: {
      annotations: { 'modelgateway.dev/key': 'a' },
      ownerReferences: [owner(uid)],
      ...more.metadata,
    },
  });
const pathOf = (name = '', namespace = home) =>
  `/api/v1/namespaces/${namespace}/secrets${name && `/${name}`}?dryRun=All`;

beforeAll(async () => {
  cluster = sharedCluster();
  helm = await startHelm();
  await cluster.applyCrds();
  home = await cluster.newNamespace('secret-policies');
  await applyPolicies(cluster, helm, home);
  // More than the chart grants: the policy must apply even if a Role is widened.
  const all = [{ apiGroups: [''], resources: ['secrets'], verbs: ['*'] }];
  controller = await accountWith(cluster, home, 'mg-model-gateway-controller', all);
  other = await accountWith(cluster, home, 'other', all);
  for (const body of [
    ofKey('own', 'u1', { data: { apiKey: 'YQ==', note: 'YQ==' } }),
    secret('restored', { metadata: { annotations: { 'modelgateway.dev/key': 'a' } } }),
    secret('foreign'),
    secret('model-gateway-sealing', { data: { identities: 'YQ==' } }),
  ]) {
    await cluster.client.ask('POST', `/api/v1/namespaces/${home}/secrets`, { body });
  }
  await eventually('the policies are in force', async () => {
    const written = await controller.client.send('POST', pathOf(), { body: secret('x') });
    const deleted = await other.client.send('DELETE', pathOf('model-gateway-sealing'));
    return written.status === 403 && deleted.status === 403;
  });
});
afterAll(async () => {
  if (home !== undefined) await deletePolicies(cluster, home);
  await helm?.[Symbol.asyncDispose]();
});

type Asked = readonly [method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', name: string, body?: object];

describe('the controller', () => {
  test.each<[what: string, ...Asked]>([
    ['creates the Secret of a key', 'POST', '', ofKey('new')],
    [
      'creates the Secret of a master key',
      'POST',
      '',
      secret('new', { metadata: { ownerReferences: [owner('u', 'MasterKey')] } }),
    ],
    ['rotates one', 'PATCH', 'own', { data: { apiKey: 'Yg==' } }],
    ['takes a restored one up', 'PATCH', 'restored', { metadata: { ownerReferences: [owner('u2')] } }],
  ])('%s', async (_, method, name, body) => {
    const { status, body: answer } = await controller.client.send(method, pathOf(name), { body });
    expect([status, answer]).toEqual([
      expect.toSatisfy((code) => [200, 201].includes(code)),
      expect.anything(),
    ]);
  });

  test.each<[what: string, ...Asked]>([
    ['a Secret without an owner', 'POST', '', secret('new')],
    [
      'a Secret of another kind',
      'POST',
      '',
      secret('new', { metadata: { ownerReferences: [owner('u', 'UpstreamNode')] } }),
    ],
    [
      'a token of another account',
      'POST',
      '',
      ofKey('new', 'u1', {
        type: 'kubernetes.io/service-account-token',
        data: {},
        metadata: { annotations: { 'kubernetes.io/service-account.name': 'other' } },
      }),
    ],
    ['an entry that no key has', 'POST', '', ofKey('new', 'u1', { data: { 'tls.key': 'YQ==' } })],
    ['an entry of others in the Secret of a key', 'PATCH', 'own', { data: { note: 'Yg==' } }],
    ['a foreign Secret', 'PATCH', 'foreign', { data: { apiKey: 'Yg==' } }],
    [
      'a foreign Secret that it makes its own',
      'PATCH',
      'foreign',
      { metadata: { ownerReferences: [owner('u1')], annotations: { 'modelgateway.dev/key': 'a' } } },
    ],
    [
      'the restored Secret of another key',
      'PATCH',
      'restored',
      { metadata: { ownerReferences: [owner('u1', 'APIKey', 'b')] } },
    ],
    ['the sealing Secret that exists', 'PATCH', 'model-gateway-sealing', { data: { identities: 'Yg==' } }],
    ['the deletion of a Secret', 'DELETE', 'own'],
    ['the deletion of all', 'DELETE', ''],
  ])('is refused %s', async (_, method, name, body) => {
    const { status } = await controller.client.send(method, pathOf(name), body === undefined ? {} : { body });
    expect(status).toBe(403);
    // The policy concerns this account alone; the sealing Secret is everybody's.
    const isDeletion = method === 'DELETE' && name === '';
    const byOther = await other.client.send(method, pathOf(name), body === undefined ? {} : { body });
    if (!isDeletion) expect([200, 201]).toContain(byOther.status);
  });
});

test('the sealing Secret is deleted only after its annotation allows it', async () => {
  const path = pathOf('model-gateway-sealing');
  const refused = await cluster.client.send('DELETE', path);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    403,
    expect.stringContaining('modelgateway.dev/allow-deletion'),
  ]);
  expect((await cluster.client.send('DELETE', pathOf())).status).toBe(403);
  const elsewhere = await cluster.newNamespace('secret-policies-other');
  const body = secret('model-gateway-sealing');
  await cluster.client.ask('POST', `/api/v1/namespaces/${elsewhere}/secrets`, { body });
  expect((await cluster.client.send('DELETE', pathOf('model-gateway-sealing', elsewhere))).status).toBe(200);
  const annotations = { 'modelgateway.dev/allow-deletion': 'true' };
  await cluster.client.ask('PATCH', path.replace('?dryRun=All', ''), { body: { metadata: { annotations } } });
  expect((await cluster.client.send('DELETE', path)).status).toBe(200);
});
