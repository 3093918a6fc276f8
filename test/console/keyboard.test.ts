import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { focused, holdsFocus, tabTo } from './focus.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

const caller = keyWithHash();
let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  const models = ['alpha', 'beta', 'gamma'];
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models })]);
  standalone = await startWithConsole({
    manifests: {
      'one.yaml': manifest('UpstreamNode', 'one', { baseURL: upstream.url, weight: 60 }),
      'two.yaml': manifest('UpstreamNode', 'two', { baseURL: upstream.url, weight: 20 }),
      'keys.yaml': [
        manifest('APIKey', 'app', { hash: caller.hash }),
        manifest('APIKey', 'job', { secretName: 'job' }),
      ].join('---\n'),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop()]);
});

test('the list: search by /, filter, sort, tick, disable several, undo', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  await page.getByRole('row', { name: /one.*ready/ }).waitFor();
  await page.getByRole('row', { name: /two.*ready/ }).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('/');
  await page.keyboard.type('two');
  await expect.poll(() => page.getByRole('link', { name: 'one', exact: true }).count()).toBe(0);
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('link', { name: 'one', exact: true }).count()).toBe(1);
  await tabTo(page, page.getByRole('combobox', { name: 'Status' }));
  await page.keyboard.type('ready');
  await expect.poll(() => new URL(page.url()).search).toBe('?status=ready');
  await tabTo(page, button('Weight'));
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('tbody a').first().textContent()).toBe('two');
  await tabTo(page, page.getByRole('checkbox', { name: 'Select all that are shown' }), 'Shift+Tab');
  await page.keyboard.press('Space');
  await tabTo(page, button('Disable'), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Disabled 2 resources.').waitFor();
  await tabTo(page, button('Undo'));
  await page.keyboard.press('Enter');
  await page.getByText('Enabled 2 resources.').waitFor();
  expect(person.complaints).toEqual([]);
});

test('a node: edit and save by Enter, YAML dialog, models, synchronize, delete; dialogs take the focus and give it back', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  const dialog = page.getByRole('dialog');
  await tabTo(page, page.getByRole('link', { name: 'two', exact: true }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('spinbutton', { name: 'Priority' }));
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('40');
  await page.keyboard.press('Enter');
  await page.getByText('Saved two.').waitFor();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type('30');
  await tabTo(page, button('Show YAML'));
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Apply' }).waitFor();
  expect(await holdsFocus(dialog)).toBe(true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => focused(page)).toBe('Show YAML');
  expect(await standalone.manifest('two.yaml')).toContain('40');
  await page.keyboard.press('Enter');
  await tabTo(page, dialog.getByRole('button', { name: 'Apply' }));
  await page.keyboard.press('Enter');
  await expect.poll(() => standalone.manifest('two.yaml')).toContain('30');

  await tabTo(page, page.getByRole('link', { name: 'Models (3)' }));
  await page.keyboard.press('Enter');
  await page.getByRole('searchbox').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('bet');
  await tabTo(page, page.getByRole('checkbox', { name: 'Select beta' }));
  await page.keyboard.press('Space');
  await tabTo(page, button('Disable selected'), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Disabled beta.').waitFor();
  await page.getByRole('row', { name: /beta no/ }).waitFor();
  await tabTo(page, button('Synchronize'), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Synchronized: the same models as before.').waitFor();

  await tabTo(page, button('Delete'));
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: /Type two/ }).waitFor();
  expect(await holdsFocus(dialog)).toBe(true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => focused(page)).toBe('Delete');
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('textbox', { name: /Type two/ }));
  await page.keyboard.type('two');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/nodes');
  await expect.poll(() => page.getByRole('link', { name: 'two', exact: true }).count()).toBe(0);
  expect(person.complaints).toEqual([]);
});

test('keys: create, copy, rotate, disable, revoke', async () => {
  await using person = await openConsole(browser, await standalone.newAddress(), {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page } = person;
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  await tabTo(page, page.getByRole('link', { name: 'Keys' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'Create an API key' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('textbox', { name: 'Name', exact: true }));
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  const key = (await page.getByTestId('new-key').textContent()) ?? '';
  await tabTo(page, button('Copy the key'));
  await page.keyboard.press('Enter');
  // The word that says so stands there for two seconds, which a busy machine may miss.
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(key);
  await tabTo(page, button('I have copied it'));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/keys/default/typed');
  // The gateway reads the folder when it has heard of the change.
  await eventually('it opens', async () => (await standalone.caller(key).chat('alpha')).status === 200);
  await tabTo(page, button('Disable'));
  await page.keyboard.press('Enter');
  await page.getByText('Disabled typed.').waitFor();
  await page.getByRole('heading', { name: /typed.*disabled/ }).waitFor();
  await tabTo(page, button('Revoke'));
  await page.keyboard.press('Enter');
  await page.getByRole('textbox', { name: /Type typed/ }).waitFor();
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/keys');
  await tabTo(page, page.getByRole('link', { name: 'job' }));
  await page.keyboard.press('Enter');
  await tabTo(page, button('Rotate'));
  await page.keyboard.press('Enter');
  await page.getByRole('spinbutton').waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('the old one stays valid for 60 minutes').waitFor();
  expect(person.complaints).toEqual([]);
});

test('routing and a chat', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await tabTo(page, page.getByRole('link', { name: 'Routing' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('combobox', { name: 'Model' }));
  await page.keyboard.type('alpha');
  await page.getByRole('meter', { name: 'Share of one' }).waitFor();
  await tabTo(page, page.getByRole('combobox', { name: 'Format' }));
  await page.keyboard.type('Mess');
  await page.getByText('converted messages->chat').first().waitFor();
  await tabTo(page, page.getByRole('link', { name: 'Try it' }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('textbox', { name: 'API key' }));
  await page.keyboard.type(caller.text);
  await tabTo(page, page.getByRole('combobox', { name: 'Model', exact: true }));
  await page.keyboard.type('alpha');
  await tabTo(page, page.getByRole('textbox', { name: 'Message' }));
  await page.keyboard.type('Hello?');
  await page.keyboard.press('ControlOrMeta+Enter');
  await page.locator('dl.facts').getByText('default/one').waitFor();
  await tabTo(page, page.getByText('Raw answer'));
  await page.keyboard.press('Enter');
  await page.locator('pre').getByText('data:').first().waitFor();
  expect(person.complaints).toEqual([]);
});
