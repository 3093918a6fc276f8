import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

const commented = (url: string): string => `# Owned by the platform team.
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: first   # never renamed
spec:
  baseURL: ${url}

  # Raised after the outage in May.
  priority: 70
`;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([
    startBrowser(),
    startUpstream({ models: ['alpha', 'beta', 'gamma'] }),
  ]);
  standalone = await startWithConsole({
    manifests: {
      'first.yaml': commented(upstream.url),
      'second.yaml': manifest('UpstreamNode', 'second', { baseURL: upstream.url, weight: 20 }),
    },
  });
});

afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await Promise.all([browser.close(), upstream.stop()]);
});

test('the list shows each node, live, and finds, sorts and filters', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await page.getByRole('row', { name: /first.*ready.*3/ }).waitFor();
  await page.getByRole('row', { name: /second.*ready.*3/ }).waitFor();
  await page.getByRole('searchbox').fill('seco');
  await expect.poll(() => page.getByRole('link', { name: 'first', exact: true }).count()).toBe(0);
  expect(new URL(page.url()).searchParams.get('search')).toBe('seco');
  await page.getByRole('searchbox').fill('');
  await page.getByRole('button', { name: 'Weight' }).click();
  await expect.poll(() => page.locator('tbody a').first().textContent()).toBe('second');
  await standalone.folders.write('third.yaml', manifest('UpstreamNode', 'third', { baseURL: upstream.url }));
  await page.getByRole('row', { name: /third.*ready/ }).waitFor();
  await standalone.folders.remove('third.yaml');
  await expect.poll(() => page.getByRole('link', { name: 'third', exact: true }).count()).toBe(0);
  expect(person.complaints).toEqual([]);
});

test('disables a node, undoes it, and leaves every comment of the file as it was', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const before = await standalone.manifest('first.yaml');
  await page.getByRole('checkbox', { name: 'Select first' }).check();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('status').getByText('Disabled first.').waitFor();
  await eventually('the file says so', async () =>
    (await standalone.manifest('first.yaml')).includes('enabled: false'),
  );
  expect((await standalone.manifest('first.yaml')).replace(/^ *enabled: false\n/m, '')).toBe(before);
  await page.getByRole('button', { name: 'Undo' }).click();
  await eventually(
    'enabled again',
    async () => !(await standalone.manifest('first.yaml')).includes('enabled: false'),
  );
  expect(await standalone.manifest('first.yaml')).toContain('# Raised after the outage in May.');
  expect(person.complaints).toEqual([]);
});

test('adds a node in three fields, by the keyboard alone, and seals its key', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await page
    .getByRole('button', { name: 'Add a node' })
    .or(page.getByRole('link', { name: 'Add a node' }))
    .focus();
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor();
  await page.locator('input:focus').waitFor();
  await page.keyboard.type('added');
  await page.keyboard.press('Tab');
  await page.keyboard.type(upstream.url);
  await page.keyboard.press('Tab');
  await page.keyboard.type('sk-very-secret-credential');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/nodes/default/added');
  await page.getByRole('heading', { name: /added.*ready/ }).waitFor();
  const text = await standalone.manifest('upstreamnode-added.yaml');
  expect(text).toContain('-----BEGIN AGE ENCRYPTED FILE-----');
  expect(text).not.toContain('sk-very-secret');
  await eventually('the node is asked with the key', () =>
    upstream.requests.some(({ headers }) => headers['authorization'] === 'Bearer sk-very-secret-credential'),
  );
  expect(person.complaints).toEqual([]);
});
