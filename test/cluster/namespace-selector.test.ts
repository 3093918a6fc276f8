import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { RoleProcess } from '../support/processes.ts';
import { addServiceAccount, bindRole } from '../support/roles.ts';
import { type Stage, startStage } from '../support/stage.ts';

// One home namespace that is served by name, and namespaces that come and go by their labels.
const label = `gateway-${Math.random().toString(36).slice(2, 8)}`;
const selector = `${label} in (yes,also)`;
let stage: Stage;
let first: string;
let second: string;
let gateway: RoleProcess;
let controller: RoleProcess;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['selector-home'], roles: [] });
  first = await stage.cluster.newNamespace('selector-team');
  second = await stage.cluster.newNamespace('selector-team');
  const flags = ['--namespace-selector', selector];
  gateway = await stage.start('gateway', { flags });
  controller = await stage.start('controller', { flags });
  await Promise.all([gateway.whenReady(), controller.whenReady()]);
}, 120_000);
afterAll(() => stage?.[Symbol.asyncDispose]());

const remarks = async (role: RoleProcess) => (await fetch(`${role.admin}/readyz?verbose`)).text();
const setLabel = (namespace: string, value: string | null) =>
  stage.cluster.client.ask('PATCH', `/api/v1/namespaces/${namespace}`, {
    body: { metadata: { labels: { [label]: value } } },
  });
const statusOf = async (key: string) => (await stage.caller(key).chat('m')).status;

test('a selector that matches nothing is said; the namespaces that are named are served', async () => {
  const { home, resources } = stage;
  for (const role of [gateway, controller]) {
    expect(await remarks(role)).toContain(`no namespace has the labels ${selector}`);
    expect(role.output()).toContain(`no namespace has the labels ${selector}`);
  }
  await stage.addNode('node', { upstream: { models: ['m'] } });
  const key = await resources.addKey(home, 'caller');
  await eventually('the home namespace is served', async () => (await statusOf(key)) === 200);
});

test('a namespace is served while it has the labels, without a restart', async () => {
  const { resources } = stage;
  const upstream = await stage.upstream({ models: ['m'] });
  const keys = new Map<string, string>();
  for (const team of [first, second]) {
    keys.set(team, await resources.addKey(team, 'caller'));
    await resources.create('UpstreamNode', team, 'node', { baseURL: upstream.url });
  }
  const status = (team: string) => statusOf(keys.get(team) ?? '');
  expect(await status(first)).toBe(401);
  await setLabel(first, 'yes');
  await eventually('the first is served', async () => (await status(first)) === 200);
  await stage.until('its node is synced', 'UpstreamNode', 'node', (node) => node.status?.phase === 'ready', {
    namespace: first,
  });
  expect(await status(second)).toBe(401);
  for (const role of [gateway, controller]) expect(await remarks(role)).toBe('ok\n');
  await setLabel(second, 'also');
  await eventually('the second is served', async () => (await status(second)) === 200);

  await setLabel(first, 'no');
  await eventually('the first is not served any more', async () => (await status(first)) === 401);
  expect(await status(second)).toBe(200);
  // What changes there now is nobody's business here.
  await resources.patch('UpstreamNode', first, 'node', { spec: { manualModels: ['n'] } });
  await setLabel(first, 'yes');
  await eventually('and again', async () => (await status(first)) === 200);

  await resources.create('APIKey', first, 'issued', { secretName: 'issued' });
  await eventually('a key is issued', async () => (await resources.secret(first, 'issued')) !== undefined);
  const text = (await resources.secret(first, 'issued'))?.text['apiKey'] ?? '';
  await eventually('it opens', async () => (await statusOf(text)) === 200);
  await stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${first}/secrets/issued`);
  await eventually('deleting its Secret revokes it', async () => (await statusOf(text)) === 401);
  const young = await stage.start('gateway', { flags: ['--namespace-selector', selector] });
  await young.whenReady();
  expect((await stage.caller(keys.get(first) ?? '', 1).chat('m')).status).toBe(200);
}, 120_000);

test('without permission to list namespaces a pod does not become ready, and says why', async () => {
  const { cluster, home } = stage;
  await addServiceAccount(cluster, home, 'gateway');
  await bindRole(cluster, 'gateway.yaml', home, home, 'gateway');
  const blind = await stage.start('gateway', {
    kubeconfig: await cluster.kubeconfigFor({ namespace: home, name: 'gateway' }),
    flags: ['--namespace-selector', selector],
  });
  await eventually('it says why', async () => {
    const { status, body } = await blind.probe('/readyz');
    return status === 503 && body.includes(`the namespaces with the labels ${selector}; last failure: `);
  });
  expect(blind.output()).toContain('It needs list and watch on namespaces');
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { name: home },
    rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] }],
  };
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await cluster.client.ask('POST', `${rbac}/clusterroles`, { body: role });
  await cluster.client.ask('POST', `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: home },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: home },
      subjects: [{ kind: 'ServiceAccount', namespace: home, name: 'gateway' }],
    },
  });
  // The teams' namespaces grant it nothing: they are lost, and the home namespace is served.
  await blind.whenReady(90_000);
  expect(await remarks(blind)).toContain(`namespace ${first} is lost: `);
  await cluster.client.ask('DELETE', `${rbac}/clusterrolebindings/${home}`);
  await cluster.client.ask('DELETE', `${rbac}/clusterroles/${home}`);
}, 180_000);
