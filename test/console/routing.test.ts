import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['alpha'] })]);
  const node = (name: string, spec: object): string =>
    manifest('UpstreamNode', name, { baseURL: upstream.url, ...spec });
  standalone = await startWithConsole({
    manifests: {
      'heavy.yaml': node('heavy', { weight: 75 }),
      'light.yaml': node('light', { weight: 25, nativeFormats: ['Messages'] }),
      'spare.yaml': node('spare', { priority: 10 }),
      'off.yaml': node('off', { enabled: false }),
      'key.yaml': manifest('APIKey', 'narrow', { secretName: 'narrow', models: ['beta'] }),
    },
  });
});

afterAll(async () => {
  await standalone[Symbol.asyncDispose]();
  await Promise.all([browser.close(), upstream.stop()]);
});

test('shows the candidates in order with their shares, why others are out, and follows changes', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await page.getByRole('link', { name: 'Routing' }).click();
  await page.getByRole('combobox', { name: 'Model' }).fill('alpha');
  const share = (name: string) => page.getByRole('meter', { name: `Share of ${name}` });
  await expect.poll(() => share('heavy').getAttribute('value')).toBe('75');
  expect(await share('light').getAttribute('value')).toBe('25');
  const turns = page.locator('article h2');
  expect(await turns.allTextContents()).toEqual(['First', 'Then, when those before fail', 'Out']);
  await page.locator('.out').getByText('the node is disabled (“Enabled”: false)').waitFor();
  await page.getByRole('combobox', { name: 'Format' }).selectOption('messages');
  await page.getByText('converted messages->chat').first().waitFor();
  await page.getByText('in its own format').waitFor();
  // A link to what is seen.
  const { search } = new URL(page.url());
  expect(search).toBe('?model=alpha&format=messages');
  await standalone.folders.write(
    'light.yaml',
    manifest('UpstreamNode', 'light', { baseURL: upstream.url, enabled: false }),
  );
  await expect.poll(() => share('heavy').getAttribute('value')).toBe('100');
  await page.getByRole('combobox', { name: 'Key' }).selectOption('default/narrow');
  // Said once.
  await page.getByText('model_not_allowed').waitFor();
  expect(await page.getByText('No node takes').count()).toBe(1);
  expect(person.complaints).toEqual([]);
});

test('an answer that comes late does not replace that of what was asked after it', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const held = Promise.withResolvers<void>();
  const isLate = Promise.withResolvers<void>();
  await page.route('**/api/route?*model=slow*', async (route) => {
    const response = await route.fetch();
    await held.promise;
    await route.fulfill({ response });
    isLate.resolve();
  });
  await person.visit('/routing');
  const slow = page.waitForRequest(/model=slow/);
  await page.getByRole('combobox', { name: 'Model' }).fill('slow');
  await slow;
  await page.getByRole('combobox', { name: 'Model' }).fill('alpha');
  await page.getByRole('meter', { name: 'Share of heavy' }).waitFor();
  const late = page.waitForResponse(/model=slow/);
  held.resolve();
  await Promise.all([isLate.promise, (await late).finished()]);
  // Two frames: what the answer changed would be drawn by then.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
  expect(await page.getByRole('meter', { name: 'Share of heavy' }).count()).toBe(1);
  expect(await page.getByText('slow').count()).toBe(0);
});
