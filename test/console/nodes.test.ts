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
  const there = { timezoneId: 'Asia/Kathmandu' };
  await using person = await openConsole(browser, await standalone.newAddress(), there);
  const { page } = person;
  await page.getByRole('row', { name: /first.*ready.*3/ }).waitFor();
  await page.getByRole('row', { name: /second.*ready.*3/ }).waitFor();
  await page.getByRole('searchbox').fill('seco');
  await expect.poll(() => page.getByRole('link', { name: 'first', exact: true }).count()).toBe(0);
  expect(new URL(page.url()).searchParams.get('search')).toBe('seco');
  await page.getByRole('searchbox').fill('');
  await page.getByRole('combobox', { name: 'Status' }).selectOption('offline');
  await page.getByText('0 of 2 nodes').waitFor();
  await page.getByRole('combobox', { name: 'Status' }).selectOption('');
  await page.getByRole('button', { name: 'Weight' }).click();
  await expect.poll(() => page.locator('tbody a').first().textContent()).toBe('second');
  expect(new URL(page.url()).searchParams.get('sort')).toBe('weight');
  // A time as how long ago, exact and in the reader's zone on hover.
  const [time] = await page.locator('time').all();
  expect(await time?.textContent()).toMatch(/ago|now/);
  expect(await time?.getAttribute('title')).toMatch(/\d{4}.*\d:\d\d:\d\d.*GMT\+5:45/);
  expect(await time?.getAttribute('datetime')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
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

test('edits a node, keeps its key where none is typed, removes it only when asked, and shows bounds beside the field', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/nodes/default/added');
  const sealed = /encryptedAPIKey/;
  await page.getByRole('spinbutton', { name: 'Priority' }).fill('777');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('100').first().waitFor();
  expect(await page.getByRole('spinbutton', { name: 'Priority' }).getAttribute('aria-invalid')).toBe('true');
  await page.getByRole('spinbutton', { name: 'Priority' }).fill('60');
  await page.getByRole('textbox', { name: 'Manual models' }).fill('by-hand, another\nthird');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved added.').waitFor();
  const saved = await standalone.manifest('upstreamnode-added.yaml');
  expect(saved).toMatch(/priority: 60/);
  expect(saved).toMatch(sealed);
  await page.getByRole('link', { name: 'Models (6)' }).waitFor();
  await page.getByRole('checkbox', { name: 'Remove the API key' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await eventually(
    'the key is gone',
    async () => !sealed.test(await standalone.manifest('upstreamnode-added.yaml')),
  );
  expect(person.complaints.filter((text) => !text.includes('422'))).toEqual([]);
});

test('enables and disables models, synchronizes and says what changed, and deletes by name', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/nodes/default/added/models');
  await page.getByRole('searchbox').fill('a');
  await page.getByRole('checkbox', { name: 'Select alpha' }).check();
  await page.getByRole('checkbox', { name: 'Select gamma' }).check();
  await page.getByRole('button', { name: 'Disable selected' }).click();
  await page.getByText('Disabled 2 models.').waitFor();
  await page.getByRole('row', { name: /alpha no Discovered/ }).waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('6, 4 enabled').waitFor();
  upstream.answers.models = ['alpha', 'beta', 'gamma', 'delta'];
  await page.getByRole('button', { name: 'Synchronize' }).click();
  await page.getByText('Synchronized: added delta.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('textbox', { name: /Type added/ }).fill('added');
  await page.getByRole('button', { name: 'Delete', exact: true }).last().click();
  await page.waitForURL('**/nodes');
  await expect.poll(() => page.getByRole('link', { name: 'added', exact: true }).count()).toBe(0);
  await expect(standalone.manifest('upstreamnode-added.yaml')).rejects.toThrow('ENOENT');
  expect(person.complaints).toEqual([]);
});

test("two people at one node: the second one sees the first one's change before anything is stored", async () => {
  await using one = await openConsole(browser, await standalone.newAddress());
  await using other = await openConsole(browser, await standalone.newAddress());
  for (const person of [one, other]) await person.visit('/nodes/default/second');
  const dialog = other.page.getByRole('dialog');
  await other.page.getByRole('spinbutton', { name: 'Priority' }).fill('11');
  // From here on what this person decides about is old.
  await other.page.getByRole('button', { name: 'Show YAML' }).click();
  await dialog.getByRole('heading', { name: 'Change second' }).waitFor();
  await one.page.getByRole('spinbutton', { name: 'Weight' }).fill('33');
  await one.page.getByRole('button', { name: 'Save' }).click();
  await one.page.getByText('Saved second.').waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByRole('heading', { name: 'Somebody else changed it too' }).waitFor();
  await other.page.locator('.diff .new').getByText('33').waitFor();
  expect(JSON.parse(await standalone.manifest('second.yaml')).spec.priority).not.toBe(11);
  await dialog.getByRole('button', { name: 'Apply mine on top' }).click();
  await dialog.getByRole('heading', { name: 'Change second' }).waitFor();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await other.page.getByText('Saved second.').waitFor();
  expect(JSON.parse(await standalone.manifest('second.yaml')).spec).toMatchObject({
    weight: 33,
    priority: 11,
  });
});
