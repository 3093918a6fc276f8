import { dirname } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callerOf } from '../support/caller.ts';
import { type PortForwardServer, startPortForwardServer } from '../support/kubelet/port-forward-server.ts';
import { startProgram } from '../support/program.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { keyWithHash } from '../support/standalone.ts';
import { tlsFile } from '../support/tls-file.ts';
import { openConsole, startBrowser } from './browser.ts';
import { addPerson, startClusterConsole } from './cluster-console.ts';

const sees = ['get', 'list', 'watch'];
const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
const forwards = { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] };
const caller = keyWithHash();

let browser: Browser;
let stage: Stage;
/** Of the node on which the gateways run, which is named as the namespace. */
let kubelet: PortForwardServer;
let port: number;

beforeAll(async () => {
  [browser, stage] = await Promise.all([startBrowser(), startStage({ namespaces: ['forward'] })]);
  const { cluster, home, resources } = stage;
  port = Number(new URL(stage.gateways[0]?.baseURL() ?? '').port);
  kubelet = await startPortForwardServer((namespace) => (namespace === home ? '127.0.0.1' : undefined));
  const node = { metadata: { name: home }, status: kubelet.nodeStatus };
  await cluster.client.ask('POST', '/api/v1/nodes', { body: node });
  await stage.addNode('one', { upstream: { models: ['alpha'] } });
  await resources.create('APIKey', home, 'app', { hash: caller.hash });
  await stage.until('ready', 'UpstreamNode', 'one', ({ status }) => status?.phase === 'ready');
});

afterAll(async () => {
  await stage?.cluster.client.send('DELETE', `/api/v1/nodes/${stage.home}`);
  await kubelet?.stop();
  await stage?.[Symbol.asyncDispose]();
  await browser?.close();
});

const person = (name: string, more: readonly object[]): Promise<string> =>
  addPerson(stage.cluster, name, [stage.home], sees, more);
const there = (): readonly string[] => ['--home-namespace', stage.home];

/** A pod of a gateway as the chart labels it, which says that it listens on `containerPort`. */
async function addPod(
  name: string,
  containerPort: number,
  nodeName?: string,
  args: readonly string[] = [],
  namespace = stage.home,
): Promise<void> {
  const labels = { 'app.kubernetes.io/part-of': 'model-gateway', 'app.kubernetes.io/component': 'gateway' };
  const containers = [{ name: 'gateway', image: 'gateway', args, ports: [{ name: 'http', containerPort }] }];
  const spec = {
    automountServiceAccountToken: false,
    containers,
    ...(nodeName === undefined ? {} : { nodeName }),
  };
  const path = `/api/v1/namespaces/${namespace}/pods`;
  await stage.cluster.client.ask('POST', path, { body: { metadata: { name, labels }, spec } });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await stage.cluster.client.ask('PATCH', `${path}/${name}/status`, { body: { status } });
}

const removePod = (name: string): Promise<unknown> =>
  stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${stage.home}/pods/${name}`, {
    body: { gracePeriodSeconds: 0 },
  });

/** What the page says when a model is tried. */
async function tried(kubeconfig: string, ...flags: readonly string[]): Promise<string> {
  await using console = await startClusterConsole(kubeconfig, flags);
  await using someone = await openConsole(browser, console.address);
  const { page } = someone;
  await page.goto(`${new URL(console.address).origin}/try?model=alpha`);
  await page.getByRole('textbox', { name: 'API key' }).fill('mgk_x');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello?');
  await page.getByRole('button', { name: 'Send' }).click();
  return (await page.locator('.turn.failure p.wrong').textContent()) ?? '';
}

test('a gateway of the cluster is looked for and reached with the own rights; what is missing is said', async () => {
  const { home } = stage;
  expect(await tried(await person('no-pods', []), ...there())).toContain(`You may not list pods in ${home}`);
  expect(await tried(await person('no-gateway', [pods]), ...there())).toContain(
    `No pod of a gateway runs in the namespace ${home}`,
  );
  // On no node: there is nowhere to forward to.
  await addPod('nowhere', port);
  expect(await tried(await person('no-forward', [pods]), ...there())).toContain(
    `You may not create pods/portforward in the namespace ${home}`,
  );
  const all = await person('all', [pods, forwards]);
  expect(await tried(all, ...there())).toContain(
    `The gateway at the pod ${home}/nowhere cannot be reached: the API server answered 400`,
  );
  await removePod('nowhere');
  await addPod('silent', 1, home);
  expect(await tried(all, ...there())).toMatch(
    new RegExp(
      `The gateway at the pod ${home}/silent cannot be reached: error forwarding port 1 to pod.*ECONNREFUSED`,
    ),
  );
  await removePod('silent');
});

test('a key is sent to no pod of a namespace that was not named, if others have one or cannot be read', async () => {
  const other = await stage.cluster.newNamespace('forward-other');
  await addPod('real', port, stage.home);
  // The only namespace that seems to have one is taken unasked: the gateway itself answers that it does not know the key.
  expect(await tried(stage.cluster.address.kubeconfig)).toContain('API key');
  await addPod('impostor', port, undefined, [], other);
  const before = kubelet.forwarded.length;
  // What anybody can make looks like a gateway; what is said names the places and both remedies.
  const everywhere = await tried(stage.cluster.address.kubeconfig);
  expect(everywhere).toMatch(/several namespaces \(.*\), and the key would go to one of them/);
  for (const said of [other, stage.home, '--home-namespace NAME', '--gateway-url URL']) {
    expect(everywhere).toContain(said);
  }
  const narrow = await tried(await person('narrow', [pods, forwards]));
  expect(narrow).toContain('You may not list pods in all namespaces');
  expect(narrow).toContain('--home-namespace NAME');
  expect(kubelet.forwarded.length).toBe(before);
  // Named, it is reached again.
  expect(await tried(stage.cluster.address.kubeconfig, ...there())).toContain('API key');
  await removePod('real');
  await stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${other}/pods/impostor`, {
    body: { gracePeriodSeconds: 0 },
  });
});

test('kubectl forwards a port to the pod through the kubelet that is played here, so it is one', async () => {
  await addPod('gateway', port, stage.home);
  const { kubectlBinary, kubeconfig } = stage.cluster.address;
  const KUBECONFIG = await person('kubectl', [pods, forwards]);
  const args = ['port-forward', '--namespace', stage.home, 'pod/gateway', `:${port}`];
  // Without a home folder it would leave its cache in this one.
  const env = { KUBECONFIG, KUBECACHEDIR: `${dirname(kubeconfig)}/cache` };
  await using kubectl = startProgram({ program: [kubectlBinary], args, env });
  const local = (): string | undefined => /127\.0\.0\.1:(\d+) ->/.exec(kubectl.output())?.[1];
  await kubectl.until('kubectl listens', () => local() !== undefined);
  const through = callerOf(`http://127.0.0.1:${local()}/v1`, caller.text);
  const answers = await Promise.all(Array.from({ length: 5 }, () => through.chat('alpha')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(kubelet.forwarded).toContain(`gateway:${port} by SPDY`);
});

test('a chat from the page reaches the pod over the API server and is streamed back', async () => {
  await using console = await startClusterConsole(await person('tries', [pods, forwards]), there());
  await using someone = await openConsole(browser, console.address);
  const { page } = someone;
  await someone.visit('/try?model=alpha');
  await page.getByRole('textbox', { name: 'API key' }).fill(caller.text);
  for (const format of ['chat', 'messages']) {
    await page.getByRole('combobox', { name: 'Format' }).selectOption(format);
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('dl.facts').getByText(`${stage.home}/one`).waitFor();
    await expect.poll(() => page.locator('.turn.assistant p').last().textContent()).toMatch(/\w/);
    await page.getByRole('button', { name: 'Start over' }).click();
  }
  await page.getByText('Raw answer').click();
  await page.locator('pre').getByText('data:').first().waitFor();
  expect(kubelet.forwarded).toContain(`gateway:${port} by WebSocket`);
  expect(someone.complaints).toEqual([]);
});

test('a pod that serves HTTPS is reached too, past the names in its certificate but not past its authority', async () => {
  const flags = [`--tls-cert=${tlsFile('server1.crt')}`, `--tls-key=${tlsFile('server1.key')}`];
  const gateway = await stage.start('gateway', { flags });
  await gateway.whenReady();
  await removePod('gateway');
  await addPod('gateway-https', Number(new URL(gateway.baseURL()).port), stage.home, flags);
  const kubeconfig = await person('tries-https', [pods, forwards]);
  expect(await tried(kubeconfig, ...there())).toMatch(/gateway-https cannot be reached: .*--gateway-ca FILE/);
  // The gateway itself answers: it does not know the key.
  expect(await tried(kubeconfig, ...there(), '--gateway-ca', tlsFile('ca1.crt'))).toContain('API key');
});
