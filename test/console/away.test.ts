import { readFile, writeFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { startProgram } from '../support/program.ts';
import { startRelay } from '../support/relay.ts';
import { resourcesOf } from '../support/resources.ts';
import { manifest, newFolders } from '../support/standalone.ts';
import { openConsole, startBrowser } from './browser.ts';
import { addPerson, startClusterConsole } from './cluster-console.ts';

let browser: Browser;
let cluster: Cluster;
beforeAll(async () => {
  browser = await startBrowser();
  cluster = sharedCluster();
  await cluster.applyCrds();
});
afterAll(() => browser?.close());

test('a console that went away: the page says so, and after its return how to sign in again', async () => {
  await using folders = await newFolders({
    'one.yaml': manifest('UpstreamNode', 'one', { baseURL: 'http://127.0.0.1:1/v1' }),
  });
  const start = async (port: number) => {
    const place = ['--manifests', folders.manifests, '--data', folders.data, '--no-open'];
    const program = startProgram({ args: ['console', ...place, '--listen', `127.0.0.1:${port}`] });
    const address = (): string => /^http\S+$/m.exec(program.stdout())?.[0] ?? '';
    await program.until('it serves', () => address() !== '');
    return { program, address: address() };
  };
  const first = await start(0);
  await using person = await openConsole(browser, first.address);
  const { page } = person;
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  await first.program.stop('SIGKILL');
  await page.getByRole('alert').getByText('The connection to the console was lost').waitFor();
  // What was read is still there to be read.
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Select one' }).check();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('status').getByText('The console does not answer').waitFor();
  const again = await start(Number(new URL(first.address).port));
  await page.getByRole('heading', { name: 'Signed out' }).waitFor({ timeout: 60_000 });
  await page.getByText('Open the newest address that the console has printed').waitFor();
  await page.goto(again.address);
  await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  // For whoever is signed out next, without a new start.
  await again.program.until('it prints another', () =>
    again.program.output().includes('For another one: http'),
  );
  await again.program.stop('SIGKILL');
});

test('an API server that went away: the page says that it shows old state, and recovers by itself', async () => {
  const home = await cluster.newNamespace('away');
  const resources = resourcesOf(cluster);
  for (const name of ['kept', 'deleted']) {
    await resources.create('UpstreamNode', home, name, { baseURL: 'http://127.0.0.1:1/v1' });
  }
  const all = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'];
  const direct = await addPerson(cluster, 'away', [home], all);
  const text = await readFile(direct, 'utf8');
  const [, port = ''] =
    /server: "?https:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? /127\.0\.0\.1:(\d+)/.exec(text) ?? [];
  let relay = await startRelay(Number(port));
  const kubeconfig = `${direct}-relayed`;
  await writeFile(kubeconfig, text.replace(`127.0.0.1:${port}`, `127.0.0.1:${relay.port}`), { mode: 0o600 });
  await using console = await startClusterConsole(kubeconfig);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await page.getByRole('link', { name: 'deleted' }).waitFor();
  await relay.stop();
  await page.getByRole('alert').getByText('What you see may be old').waitFor({ timeout: 60_000 });
  await page.getByText('connecting again…').waitFor();
  await page.getByRole('link', { name: 'deleted' }).waitFor();
  await page.getByRole('checkbox', { name: 'Select kept' }).check();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page
    .getByRole('status')
    .getByText(/cannot be reached|gave no answer/)
    .waitFor();
  await cluster.client.ask(
    'DELETE',
    `/apis/modelgateway.dev/v1alpha1/namespaces/${home}/upstreamnodes/deleted`,
  );
  await resources.create('UpstreamNode', home, 'new', { baseURL: 'http://127.0.0.1:1/v1' });
  relay = await startRelay(Number(port), relay.port);
  await page.getByRole('link', { name: 'new', exact: true }).waitFor({ timeout: 60_000 });
  await page.locator('.connection.live').waitFor();
  expect(await page.getByRole('link', { name: 'deleted' }).count()).toBe(0);
  expect(await page.getByRole('alert').count()).toBe(0);
  await relay.stop();
});

test('all namespaces: told apart in the list, filtered by one, and linked to', async () => {
  const [one, other] = [await cluster.newNamespace('many-one'), await cluster.newNamespace('many-other')];
  const resources = resourcesOf(cluster);
  for (const namespace of [one, other]) {
    await resources.create('UpstreamNode', namespace, 'same', { baseURL: 'http://127.0.0.1:1/v1' });
  }
  await using console = await startClusterConsole(cluster.address.kubeconfig, ['--all-namespaces']);
  await using person = await openConsole(browser, console.address);
  const { page } = person;
  await person.visit(`/nodes?search=same&namespace=${other}&sort=-url`);
  await expect.poll(() => page.getByRole('link', { name: 'same', exact: true }).count()).toBe(1);
  await page.getByRole('columnheader', { name: 'URL' }).waitFor();
  expect(await page.getByRole('columnheader', { name: 'URL' }).getAttribute('aria-sort')).toBe('descending');
  await page.getByRole('combobox', { name: 'Namespace' }).selectOption(one);
  await page.getByRole('link', { name: 'same', exact: true }).click();
  await page.waitForURL(`**/nodes/${one}/same`);
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByText(one).waitFor();
});
