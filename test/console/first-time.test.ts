import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProgram } from '../support/program.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { medianOf, startMeter } from './steps.ts';

const mostBytes = 150_000;
/**
 * Of processor time, until the first view is usable: what is aimed for, as the median of several loads without a cache. Wall
 * time has ten times that, because all tests run at once on some machines.
 */
const mostProcessorMs = 1_000;
const longestMs = 10_000;
const loads = 5;

let browser: Browser;
let upstream: ScriptedUpstream;
let cwd: string;

beforeAll(async () => {
  [browser, upstream, cwd] = await Promise.all([
    startBrowser(),
    startUpstream({ models: ['large', 'middle', 'small'] }),
    mkdtemp(join(tmpdir(), 'model-gateway-first-')),
  ]);
});
afterAll(async () => {
  await Promise.all([browser?.close(), upstream?.stop(), rm(cwd, { recursive: true, force: true })]);
});

test('from the first start: adds a node in three fields, disables two models, makes a key and chats, by what the page says', async () => {
  const flags = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  await using program = startProgram({ args: ['start', ...flags], cwd });
  const address = (): string => /^ {2}Console +(http\S+)/m.exec(program.stdout())?.[1] ?? '';
  await program.until('it prints an address', () => address() !== '');

  await using person = await openConsole(browser, address());
  const { page } = person;
  await page.getByRole('link', { name: /Demo/ }).waitFor();
  await page.getByRole('button', { name: 'Add a node' }).click();
  await page.getByLabel('Name', { exact: true }).fill('mine');
  await page.getByLabel('Base URL', { exact: true }).fill(upstream.url);
  await page.getByLabel('API key', { exact: true }).fill('sk-my-own-key');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: /mine.*ready/ }).waitFor();

  await page.getByRole('link', { name: 'Models (3)' }).click();
  await page.getByRole('checkbox', { name: 'Select middle' }).check();
  await page.getByRole('checkbox', { name: 'Select small' }).check();
  await page.getByRole('button', { name: 'Disable selected' }).click();
  await page.getByText('Disabled 2 models.').waitFor();

  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('button', { name: 'Create an API key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('my-key');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('OPENAI_BASE_URL').waitFor();
  await page.getByRole('button', { name: 'Try it with this key' }).click();
  await page.waitForURL('**/try');
  await page.getByLabel('Model', { exact: true }).fill('large');
  await page.getByLabel('Message', { exact: true }).fill('Hello?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('dl.facts').getByText('default/mine').waitFor();
  await expect.poll(() => page.locator('.turn.assistant p').textContent()).toMatch(/\w/);
  await page.getByLabel('Model', { exact: true }).fill('small');
  await page.getByLabel('Message', { exact: true }).fill('And you?');
  await page.getByRole('button', { name: 'Send' }).click();
  // Why not, in the words that every caller gets.
  await page
    .locator('.turn')
    .getByText(/disabled/)
    .waitFor();
  expect(person.complaints.filter((text) => !/ 40[34] /.test(text))).toEqual([]);

  // A second person of the same machine: their first view, over the wire.
  const { origin } = new URL(address());
  const storageState = await person.context.storageState();
  const strangers: string[] = [];
  const views = [];
  for (let load = 0; load < loads; load++) views.push(await firstView());
  const [bytes, processorMs, tookMs] = [
    Math.max(...views.map((view) => view.bytes)),
    medianOf(views.map((view) => view.processorMs)),
    medianOf(views.map((view) => view.tookMs)),
  ];
  console.log(
    `first view: ${Math.round(bytes / 1_000)} kB; usable after ${Math.round(processorMs)} ms of processor time, ${Math.round(tookMs)} ms in all`,
  );
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(mostBytes);
  expect(processorMs).toBeGreaterThan(0);
  expect(processorMs).toBeLessThan(mostProcessorMs);
  expect(tookMs).toBeLessThan(longestMs);
  expect(strangers).toEqual([]);

  /** Loads the list in a browser profile of its own, until its search takes letters. */
  async function firstView(): Promise<{ bytes: number; processorMs: number; tookMs: number }> {
    const context = await browser.newContext({ storageState });
    const fresh = await context.newPage();
    const network = await context.newCDPSession(fresh);
    let bytes = 0;
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    fresh.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
        strangers.push(request.url());
    });
    await network.send('Network.enable');
    const meter = await startMeter(fresh);
    const before = await meter.spent();
    const started = performance.now();
    await fresh.goto(`${origin}/nodes`);
    await fresh.getByRole('link', { name: 'mine' }).waitFor();
    await fresh.getByRole('searchbox').fill('mine');
    const tookMs = performance.now() - started;
    const spent = await meter.spent();
    await context.close();
    // Another origin may have got a process of its own, whose clock begins anew.
    return { bytes, processorMs: spent < before ? spent : spent - before, tookMs };
  }
});
