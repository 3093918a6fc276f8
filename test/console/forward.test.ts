import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { addServiceAccount } from '../support/roles.ts';
import { openConsole, startBrowser } from './browser.ts';
import { startClusterConsole } from './cluster-console.ts';

let browser: Browser;
let cluster: Cluster;
let home: string;

beforeAll(async () => {
  [browser, cluster] = [await startBrowser(), sharedCluster()];
  await cluster.applyCrds();
  home = await cluster.newNamespace('forward');
  await addServiceAccount(cluster, home, 'pod');
});
afterAll(() => browser?.close());

/** A person with these rights in the namespace. */
async function person(name: string, rules: readonly object[]): Promise<string> {
  await addServiceAccount(cluster, home, name);
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${home}`;
  await cluster.client.ask('POST', `${path}/roles`, { body: { metadata: { name }, rules } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'ServiceAccount', namespace: home, name }];
  await cluster.client.ask('POST', `${path}/rolebindings`, {
    body: { metadata: { name }, roleRef, subjects },
  });
  return cluster.kubeconfigFor({ namespace: home, name });
}

/** What the page says when a model is tried. */
async function tried(kubeconfig: string): Promise<string> {
  await using console = await startClusterConsole(kubeconfig);
  await using someone = await openConsole(browser, console.address);
  const { page } = someone;
  await page.goto(`${new URL(console.address).origin}/try?model=alpha`);
  await page.getByRole('textbox', { name: 'API key' }).fill('mgk_x');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello?');
  await page.getByRole('button', { name: 'Send' }).click();
  return (await page.locator('.turn.assistant p').textContent()) ?? '';
}

test('a gateway of the cluster is looked for and reached with the own rights; what is missing is said', async () => {
  const kinds = { apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
  const forwards = { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] };
  expect(await tried(await person('no-pods', [kinds]))).toContain('You may not list pods');
  expect(await tried(await person('no-gateway', [kinds, pods]))).toContain('No pod of a gateway runs here');

  const labels = { 'app.kubernetes.io/part-of': 'model-gateway', 'app.kubernetes.io/component': 'gateway' };
  const ports = [{ name: 'http', containerPort: 8080 }];
  const containers = [{ name: 'gateway', image: 'gateway', ports }];
  const spec = { serviceAccountName: 'pod', automountServiceAccountToken: false, containers };
  const path = `/api/v1/namespaces/${home}/pods`;
  await cluster.client.ask('POST', path, { body: { metadata: { name: 'gateway', labels }, spec } });
  await cluster.kubectl([
    'patch',
    'pod',
    'gateway',
    '-n',
    home,
    '--subresource=status',
    '--type=merge',
    '-p',
    '{"status":{"phase":"Running"}}',
  ]);
  expect(await tried(await person('no-forward', [kinds, pods]))).toContain(
    `You may not create pods/portforward in the namespace ${home}`,
  );
  // There is no kubelet behind this API server: it has nowhere to forward to.
  const answer = await tried(await person('all', [kinds, pods, forwards]));
  expect(answer).toMatch(
    new RegExp(`The gateway at the pod ${home}/gateway cannot be reached: the API server answered \\d+`),
  );
});
