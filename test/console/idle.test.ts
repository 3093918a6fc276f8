import { randomBytes } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderDeclarations } from '../../src/cli/edit/folder-declarations.ts';
import { startConsole } from '../../src/console/console.ts';
import { manifest, newFolders } from '../support/standalone.ts';
import { openConsole, startBrowser } from './browser.ts';

const minute = 60_000;
let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

test('a browser that was idle for too long is signed out by itself, is told how to get back in, and gets back in', async () => {
  const node = (priority: number): string =>
    manifest('UpstreamNode', 'one', { baseURL: 'http://127.0.0.1:1/v1', priority });
  await using folders = await newFolders({ 'one.yaml': node(1) });
  const { manifests, data } = folders;
  const declarations = await folderDeclarations({ manifests, data, namespace: undefined });
  // The console's clock, put forward here: nobody waits an hour.
  let nowMs = Date.now();
  const ended = new AbortController();
  const console = await startConsole({
    declarations,
    namespace: undefined,
    explain: () => Promise.reject(new Error('not asked here')),
    host: '127.0.0.1',
    port: 0,
    readOnly: false,
    gatewayURL: undefined,
    version: 'test',
    idleMs: 60 * minute,
    now: () => nowMs,
    randomBytes,
    signal: ended.signal,
    onFailure: () => {},
  });
  try {
    await using person = await openConsole(browser, console.newAddress());
    const { page } = person;
    const priority = page.getByRole('spinbutton', { name: 'Priority' });
    await page.getByRole('link', { name: 'one', exact: true }).waitFor();
    nowMs += 50 * minute;
    // Whoever does something stays signed in.
    const told = page.waitForResponse('**/api/acted');
    await page.getByRole('link', { name: 'one', exact: true }).click();
    expect((await told).status()).toBe(200);
    await expect.poll(() => priority.inputValue()).toBe('1');
    nowMs += 50 * minute;
    // What the page reads by itself, as others change things, is no act of a person.
    await folders.write('one.yaml', node(2));
    await expect.poll(() => priority.inputValue(), { timeout: 30_000 }).toBe('2');
    nowMs += 20 * minute;
    await page.getByRole('heading', { name: 'Signed out' }).waitFor({ timeout: 60_000 });
    await page.getByText('was idle for too long').waitFor();
    await page.getByText('Open the newest address that the console has printed').waitFor();
    expect(await page.content()).not.toContain('127.0.0.1:1/v1');
    await page.goto(console.newAddress());
    await page.getByRole('link', { name: 'one', exact: true }).waitFor();
  } finally {
    ended.abort();
    await console.close();
  }
});
