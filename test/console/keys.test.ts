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

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['alpha', 'beta'] })]);
  standalone = await startWithConsole({
    manifests: {
      'node.yaml': manifest('UpstreamNode', 'one', { baseURL: upstream.url }),
      'key.yaml': `# The nightly job.\n${manifest('APIKey', 'job', { secretName: 'job-key' })}`,
    },
  });
});

afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await Promise.all([browser.close(), upstream.stop()]);
});

test('makes a key that is shown once and opens the gateway, tries a model with it, and revokes it', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('button', { name: 'Create an API key' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('laptop');
  await page.getByRole('combobox', { name: 'Models' }).fill('alpha, beta');
  await page.getByRole('button', { name: 'Create' }).click();
  const key = (await page.getByTestId('new-key').textContent()) ?? '';
  expect(key).toMatch(/^mgk_[0-9A-Za-z]{49}$/);
  // It is seen this once: no stray key may take it away.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  expect(await page.getByTestId('new-key').textContent()).toBe(key);
  await page.getByRole('button', { name: 'I have copied it' }).click();
  await page.waitForURL('**/keys/default/laptop');
  expect(await page.content()).not.toContain(key);
  expect(await standalone.manifest('apikey-laptop.yaml')).not.toContain(key);
  await eventually('it opens', async () => (await standalone.caller(key).chat('alpha')).status === 200);

  await page.getByRole('link', { name: 'Try it' }).click();
  await page.getByRole('textbox', { name: 'API key' }).fill(key);
  await page.getByRole('combobox', { name: 'Model', exact: true }).fill('alpha');
  await page.getByRole('combobox', { name: 'Format' }).selectOption('messages');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('messages->chat').waitFor();
  await page.locator('dl.facts').getByText('default/one').waitFor();
  await expect.poll(() => page.locator('.turn.assistant p').textContent()).toMatch(/\w/);

  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('link', { name: 'laptop' }).click();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await expect
    .poll(() => page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).isDisabled())
    .toBe(true);
  await page.getByRole('textbox', { name: /Type laptop/ }).fill('laptop');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/keys');
  await eventually(
    'the key is refused',
    async () => (await standalone.caller(key).chat('alpha')).status === 401,
  );
  expect(person.complaints).toEqual([]);
});

test('limits, disables and rotates a key from a Secret', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/keys/default/job');
  await page.getByRole('combobox', { name: 'Models' }).fill('beta');
  await page.getByRole('button', { name: 'Show YAML' }).click();
  await page.locator('.diff .new').getByText('beta').waitFor();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('Saved job.').waitFor();
  expect(await standalone.manifest('key.yaml')).toMatch(/^# The nightly job\./);
  expect(JSON.parse((await standalone.manifest('key.yaml')).slice(19)).spec.models).toEqual(['beta']);
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('spinbutton').fill('5');
  await page.getByRole('button', { name: 'Rotate' }).last().click();
  await page.getByText('the old one stays valid for 5 minutes').waitFor();
  expect(JSON.parse((await standalone.manifest('key.yaml')).slice(19)).spec.rotation).toEqual({
    revision: 1,
    overlapSeconds: 300,
  });
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('disabled', { exact: true }).waitFor();
  expect(person.complaints).toEqual([]);
});

test('makes a key into a Secret, which the page never sees', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/keys/new');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('batch');
  await page.getByRole('radio', { name: /Into a Secret/ }).check();
  await page.getByRole('textbox', { name: 'Name of the Secret' }).fill('batch-key');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/keys/default/batch');
  await page.getByText('Key issued').waitFor();
  await page.getByText('the Secret batch-key', { exact: true }).waitFor();
  expect(await standalone.manifest('apikey-batch.yaml')).toContain('secretName: batch-key');
  expect(await page.content()).not.toMatch(/mgk_[0-9A-Za-z]{49}/);
  expect(person.complaints).toEqual([]);
});

test('a name that the server refuses is said beside the field, in its words', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/master-keys/new');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('alert').getByText('is missing; add it').waitFor();
  await page.locator('input:focus[aria-invalid=true]').waitFor();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Not A Name');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('alert').getByText('lower-case').waitFor();
});
