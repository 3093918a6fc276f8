import type { Browser } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { openConsole, startBrowser } from './browser.ts';
import { addPerson, startClusterConsole } from './cluster-console.ts';
import { expectTrap, focused } from './focus.ts';
import { handsAt, ways } from './hands.ts';

const all = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'];
let browser: Browser;
let stage: Stage;
let other: string;

beforeAll(async () => {
  [browser, stage] = await Promise.all([startBrowser(), startStage({ namespaces: ['console'] })]);
  other = await stage.cluster.newNamespace('console-other');
  await stage.addNode('one', { upstream: { models: ['alpha', 'beta'] } });
  await stage.until('ready', 'UpstreamNode', 'one', (node) => node.status?.phase === 'ready');
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await browser?.close();
});

test('with all rights: adds a node with a sealed key, switches models, makes a key that opens the gateway, and explains a route', async () => {
  const kubeconfig = await addPerson(stage.cluster, 'full', [stage.home], all);
  const gatewayURL = stage.gateways[0]?.baseURL() ?? '';
  await using console = await startClusterConsole(kubeconfig, [
    ...['--gateway-url', gatewayURL, '--home-namespace', stage.home],
  ]);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  const upstream = await stage.upstream({ apiKey: 'sk-from-the-page', models: ['gamma'] });
  await page.getByRole('button', { name: 'Add a node' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('two');
  await page.getByRole('textbox', { name: 'Base URL' }).fill(upstream.url);
  await page.getByRole('textbox', { name: 'API key' }).fill('sk-from-the-page');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.waitForURL(`**/nodes/${stage.home}/two`);
  await page.getByRole('heading', { name: /two.*ready/ }).waitFor();
  const stored = await stage.resources.get('UpstreamNode', stage.home, 'two');
  expect(stored.spec['encryptedAPIKey']).toContain('-----BEGIN AGE');
  expect(JSON.stringify(stored)).not.toContain('sk-from');

  await person.visit(`/nodes/${stage.home}/one/models`);
  await page.getByRole('checkbox', { name: 'Select alpha' }).check();
  await page.getByRole('button', { name: 'Disable selected' }).click();
  await page.getByText('Disabled alpha.').waitFor();
  await stage.until('disabled', 'UpstreamNode', 'one', (node) => node.status?.models?.[0]?.enabled === false);

  await person.visit('/keys/new');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('page');
  await page.getByRole('button', { name: 'Create' }).click();
  const key = (await page.getByTestId('new-key').textContent()) ?? '';
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await eventually('it opens', async () => (await stage.caller(key).chat('gamma')).status === 200);

  await person.visit('/routing?model=gamma');
  await expect
    .poll(() => page.getByRole('meter', { name: 'Share of two' }).getAttribute('value'))
    .toBe('100');
  expect(person.complaints).toEqual([]);
});

test('with the right to read alone: everything is seen, nothing can be done, and the server refuses what is forced', async () => {
  const kubeconfig = await addPerson(stage.cluster, 'reader', [stage.home], ['get', 'list', 'watch']);
  await using console = await startClusterConsole(kubeconfig);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await person.visit(`/nodes/${stage.home}/one`);
  await page
    .getByText(/may not patch upstreamnodes/)
    .first()
    .waitFor();
  for (const name of ['Disable', 'Synchronize', 'Delete', 'Save']) {
    expect(await page.getByRole('button', { name, exact: true }).isDisabled(), name).toBe(true);
  }
  const forced = await page.evaluate(`fetch('/api/resources/UpstreamNode/${stage.home}/one', {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ wishes: { edits: [{ path: ['spec', 'enabled'], value: false }] } }),
  }).then(async (answer) => [answer.status, (await answer.json()).error.message])`);
  expect(forced).toEqual([403, expect.stringContaining('patch')]);
  expect((await stage.resources.get('UpstreamNode', stage.home, 'one')).spec['enabled']).toBe(true);
});

test('with rights in one namespace: another one is neither shown nor changed', async () => {
  await stage.resources.create('UpstreamNode', other, 'theirs', { baseURL: 'http://127.0.0.1:1/v1' });
  const kubeconfig = await addPerson(stage.cluster, 'member', [stage.home], all);
  await using console = await startClusterConsole(kubeconfig);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  expect(await page.getByRole('link', { name: 'theirs' }).count()).toBe(0);
  await person.visit(`/nodes/${other}/theirs`);
  await page
    .getByRole('alert')
    .getByText(/may not|cannot|forbidden/i)
    .waitFor();
  await using everywhere = await startClusterConsole(kubeconfig, ['--all-namespaces']);
  await using reached = await openConsole(browser, everywhere.address);
  await reached.page
    .getByRole('alert')
    .getByText(/list upstreamnodes|namespace/)
    .first()
    .waitFor();
});

test('what another manager owns is marked and left alone', async () => {
  const manifest = `apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: owned
  annotations: { argocd.argoproj.io/tracking-id: 'platform:modelgateway.dev/UpstreamNode:${stage.home}/owned' }
spec: { baseURL: 'http://127.0.0.1:1/v1', enabled: true }
`;
  expect((await stage.cluster.apply(manifest, stage.home)).applied).toBe(true);
  const kubeconfig = await addPerson(stage.cluster, 'gitops', [stage.home], all);
  await using console = await startClusterConsole(kubeconfig);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await person.visit(`/nodes/${stage.home}/owned`);
  await page
    .getByText(/managed by Argo CD/i)
    .first()
    .waitFor();
  expect(await page.getByRole('button', { name: 'Disable' }).isDisabled()).toBe(true);
});

test.for(ways)(
  'by %s: a single field that another manager owns is changed only by taking it over, after its owner was named',
  async (by) => {
    const name = `tuned-by-${by}`;
    await stage.resources.create('UpstreamNode', stage.home, name, { baseURL: 'http://127.0.0.1:1/v1' });
    const tuned = `apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata: { name: ${name} }
spec: { priority: 30 }
`;
    const flags = [
      '--server-side',
      '--force-conflicts',
      '--field-manager=tuner',
      '-n',
      stage.home,
      '-f',
      '-',
    ];
    expect((await stage.cluster.kubectl(['apply', ...flags], tuned)).code).toBe(0);
    const kubeconfig = await addPerson(stage.cluster, `tunes-by-${by}`, [stage.home], all);
    await using console = await startClusterConsole(kubeconfig);
    await using person = await openConsole(browser, console.address);
    const { page } = person;
    const hands = handsAt(page, by);
    const dialog = page.getByRole('dialog');
    const spec = async () => (await stage.resources.get('UpstreamNode', stage.home, name)).spec;
    await person.visit(`/nodes/${stage.home}/${name}`);
    const save = async (priority: string): Promise<void> => {
      await hands.type(page.getByRole('spinbutton', { name: 'Priority' }), priority);
      await hands.press(page.getByRole('button', { name: 'Save' }));
      await dialog.getByText('spec.priority is owned by tuner').waitFor();
      await page.locator('.diff .new').getByText(`priority: ${priority}`).waitFor();
    };
    await save('40');
    if (by === 'keyboard') await expectTrap(page, dialog, 'Save');
    else {
      await hands.press(dialog.getByRole('button', { name: 'Cancel' }));
      await expect.poll(() => focused(page)).toBe('Save');
    }
    expect(await spec()).toMatchObject({ priority: 30 });
    await save('45');
    await hands.press(page.getByRole('button', { name: 'Take over' }));
    await page.getByText(`Saved ${name}.`).waitFor();
    expect(await spec()).toMatchObject({ priority: 45 });
  },
);

test('--read-only refuses every change, whatever the rights are', async () => {
  const kubeconfig = await addPerson(stage.cluster, 'careful', [stage.home], all);
  await using console = await startClusterConsole(kubeconfig, ['--read-only']);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await person.visit(`/nodes/${stage.home}/one`);
  expect(await page.getByRole('button', { name: 'Disable' }).isDisabled()).toBe(true);
  const { origin } = new URL(console.address);
  const [{ name, value } = { name: '', value: '' }] = await person.context.cookies();
  const { statusCode, body } = await request(`${origin}/api/resources/UpstreamNode/${stage.home}/one`, {
    method: 'DELETE',
    headers: { cookie: `${name}=${value}`, origin, 'content-type': 'application/json' },
    body: '{}',
  });
  await body.dump();
  expect(statusCode).toBe(403);
});
