import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { reportPath } from '../support/reports.ts';
import { condition, resourcePathOf } from '../support/resources.ts';
import { addServiceAccount, bindRole } from '../support/roles.ts';
import { runProduct } from '../support/run-product.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Each role has only the permissions of its Role in rbac/.
const served = { controller: 'controller.yaml', gateway: 'gateway.yaml' } as const;
const atHome = { controller: 'controller-home.yaml', gateway: 'gateway-home.yaml' } as const;
let stage: Stage;
let asRole: { controller: Cluster; gateway: Cluster };
let foreign: string;

beforeAll(async () => {
  stage = await startStage({ namespaces: ['rbac-home', 'rbac-team'], kubeconfigs: grant });
  foreign = await stage.cluster.newNamespace('rbac-foreign');
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function grant(cluster: Cluster, [home = '', ...others]: readonly string[]) {
  const grantTo = async (role: 'controller' | 'gateway') => {
    await addServiceAccount(cluster, home, role);
    for (const namespace of [home, ...others]) await bindRole(cluster, served[role], namespace, home, role);
    await bindRole(cluster, atHome[role], home, home, role);
    return cluster.as({ namespace: home, name: role });
  };
  asRole = { controller: await grantTo('controller'), gateway: await grantTo('gateway') };
  return {
    controller: asRole.controller.address.kubeconfig,
    gateway: asRole.gateway.address.kubeconfig,
  };
}

/** What the API server refused to a process, as its log has it. */
const refusals = (output: string) => output.split('\n').filter((line) => /forbidden|Forbidden/.test(line));

test('both roles do all of their work with the least that the Roles grant', async () => {
  const { home, resources } = stage;
  const [, team = ''] = stage.namespaces;
  await resources.addSecret(team, 'credential', { apiKey: 'sk-team' });
  await stage.addNode('node', {
    namespace: team,
    upstream: { apiKey: 'sk-team', models: ['m'] },
    spec: { apiKeySecretRef: { name: 'credential' } },
  });
  const ready = await stage.until('ready', 'UpstreamNode', 'node', (node) => node.status?.phase === 'ready', {
    namespace: team,
  });
  expect(condition(ready, 'CredentialsResolved')).toBe('True CredentialsResolved');
  await resources.create('APIKey', team, 'app', {
    secretName: 'app-key',
    rotation: { revision: 1, overlapSeconds: 0 },
  });
  const keyText = async () => (await resources.secret(team, 'app-key'))?.text['apiKey'] ?? '';
  await eventually('a key is issued', async () => (await keyText()) !== '');
  const first = await keyText();
  await eventually('it opens', async () => (await stage.caller(first).chat('m')).status === 200);
  // A rotation updates the Secret.
  await resources.patch('APIKey', team, 'app', { spec: { rotation: { revision: 2 } } });
  await eventually('another is issued', async () => (await keyText()) !== first);

  const master = stage.caller(await resources.addKey(team, 'master', {}, 'MasterKey'));
  await eventually('the master key opens', async () => (await master.send('GET', '/keys')).status === 200);
  const made = await master.send('POST', '/keys', {});
  expect(made.status).toBe(201);
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  expect((await stage.caller(value).chat('m')).status).toBe(200);
  expect((await master.send('DELETE', `/keys/${id}`)).status).toBe(200);

  const upstream = await stage.upstream({ apiKey: 'sk-sealed', models: ['sealed'] });
  const sealed = await runProduct(
    [
      'seal',
      ...['--kubeconfig', stage.cluster.address.kubeconfig, '--home-namespace', home, '--namespace', team],
      ...['--name', 'sealed', '--base-url', upstream.url],
    ],
    'sk-sealed',
  );
  expect(sealed.code, sealed.stderr).toBe(0);
  const encryptedAPIKey = sealed.stdout.replace(/^encryptedAPIKey: \|\n/, '').replaceAll(/^ {2}/gm, '');
  await resources.create('UpstreamNode', team, 'sealed', { baseURL: upstream.url, encryptedAPIKey });
  await stage.until('ready', 'UpstreamNode', 'sealed', (node) => node.status?.phase === 'ready', {
    namespace: team,
  });

  await eventually('Events are written', async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${team}/events`;
    const { items } = (await stage.cluster.client.ask('GET', path)) as { items: { reason: string }[] };
    const reasons = items.map(({ reason }) => reason);
    return reasons.includes('ModelAdded') && reasons.includes('KeyIssued');
  });
  for (const process of [...stage.controllers, ...stage.gateways]) {
    expect(refusals(process.output())).toEqual([]);
  }
});

test('where every credential is sealed a gateway needs no right on Secrets but the sealing one', async () => {
  const { cluster, home, resources } = stage;
  const [, team = ''] = stage.namespaces;
  await addServiceAccount(cluster, home, 'sealed-only');
  const path = (namespace: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  for (const namespace of [home, team]) {
    const full = (await cluster.client.ask('GET', `${path(namespace)}/roles/model-gateway-gateway`)) as {
      rules: { apiGroups: string[] }[];
    };
    const rules = full.rules.filter(({ apiGroups }) => !apiGroups.includes(''));
    await cluster.client.ask('POST', `${path(namespace)}/roles`, {
      body: { metadata: { name: 'sealed-only' }, rules },
    });
    await cluster.client.ask('POST', `${path(namespace)}/rolebindings`, {
      body: {
        metadata: { name: 'sealed-only' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'sealed-only' },
        subjects: [{ kind: 'ServiceAccount', namespace: home, name: 'sealed-only' }],
      },
    });
  }
  await bindRole(cluster, atHome.gateway, home, home, 'sealed-only');
  const kubeconfig = await cluster.kubeconfigFor({ namespace: home, name: 'sealed-only' });
  const gateway = await stage.start('gateway', { kubeconfig });
  await gateway.whenReady();
  const caller = stage.caller(await resources.addKey(team, 'sealed-caller'), stage.gateways.length - 1);
  await eventually('the sealed node serves', async () => (await caller.chat('sealed')).status === 200);
  // Without its credential nothing is sent to the other one.
  expect((await caller.chat('m')).status).toBe(503);
  expect(gateway.output()).not.toContain('sk-team');
});

describe('nothing beyond it is granted', () => {
  const node = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'UpstreamNode', metadata: { name: 'node' } };
  const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
  const [home, team] = [() => stage.home, () => stage.namespaces[1] ?? ''];
  type Attempt = [
    what: string,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: () => string,
    body?: object,
  ];
  const both: Attempt[] = [
    ['read Secrets of another namespace', 'GET', () => secrets(foreign)],
    ['read keys of another namespace', 'GET', () => resourcePathOf('APIKey', foreign)],
    ['read Secrets of all namespaces', 'GET', () => '/api/v1/secrets'],
    [
      'change a node',
      'PATCH',
      () => resourcePathOf('UpstreamNode', team(), 'node'),
      { spec: { enabled: false } },
    ],
    ['create a node', 'POST', () => resourcePathOf('UpstreamNode', team()), node],
    ['delete a node', 'DELETE', () => resourcePathOf('UpstreamNode', team(), 'node')],
    ['change a key', 'PATCH', () => resourcePathOf('APIKey', team(), 'app'), { spec: { enabled: true } }],
    ['create a master key', 'POST', () => resourcePathOf('MasterKey', team()), node],
    ['delete a master key', 'DELETE', () => resourcePathOf('MasterKey', team(), 'master')],
    ['delete a Secret', 'DELETE', () => `${secrets(team())}/credential`],
    ['read pods', 'GET', () => `/api/v1/namespaces/${team()}/pods`],
    ['delete a pod', 'DELETE', () => `/api/v1/namespaces/${home()}/pods/x`],
    ['write a report elsewhere', 'POST', () => reportPath(team()), {}],
    ['make tokens', 'POST', () => `/api/v1/namespaces/${home()}/serviceaccounts/controller/token`, {}],
    ['widen its Role', 'PATCH', () => `/apis/rbac.authorization.k8s.io/v1/namespaces/${home()}/roles/x`, {}],
  ];
  const gateway: Attempt[] = [
    ['write a Secret', 'POST', () => secrets(team()), { metadata: { name: 'x' } }],
    ['change a Secret', 'PATCH', () => `${secrets(team())}/credential`, { stringData: { apiKey: 'x' } }],
    ['write status of a node', 'PATCH', () => `${resourcePathOf('UpstreamNode', team(), 'node')}/status`, {}],
    ['write status of a key', 'PATCH', () => `${resourcePathOf('APIKey', team(), 'app')}/status`, {}],
    ['write Events', 'POST', () => `/apis/events.k8s.io/v1/namespaces/${team()}/events`, {}],
    ['take the lease', 'GET', () => `/apis/coordination.k8s.io/v1/namespaces/${home()}/leases`],
    [
      'write ConfigMaps',
      'POST',
      () => `/api/v1/namespaces/${home()}/configmaps`,
      { metadata: { name: 'x' } },
    ],
  ];
  const controller: Attempt[] = [
    ['create a key', 'POST', () => resourcePathOf('APIKey', team()), { metadata: { name: 'x' } }],
    ['delete a key', 'DELETE', () => resourcePathOf('APIKey', team(), 'app')],
    ['take another lease', 'PUT', () => `/apis/coordination.k8s.io/v1/namespaces/${home()}/leases/x`, {}],
    ['read other ConfigMaps', 'GET', () => `/api/v1/namespaces/${home()}/configmaps/kube-root-ca.crt`],
    ['read ConfigMaps of a team', 'GET', () => `/api/v1/namespaces/${team()}/configmaps`],
  ];

  test.each([...both, ...gateway])('the gateway may not %s', async (_, method, path, body) => {
    const { status } = await asRole.gateway.client.send(method, path(), { body });
    expect(status).toBe(403);
  });

  test.each([...both, ...controller])('the controller may not %s', async (_, method, path, body) => {
    const { status } = await asRole.controller.client.send(method, path(), { body });
    expect(status).toBe(403);
  });
});
