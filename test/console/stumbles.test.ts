import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, type Person, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

// What a person who sees the console for the first time stumbled over.

const many = Array.from({ length: 3_006 }, (_, at) => `vendor-${at % 7}/model-${at}${at % 3 ? '' : ':free'}`);
let browser: Browser;
let upstream: ScriptedUpstream;
let large: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream, large] = await Promise.all([
    startBrowser(),
    startUpstream({ models: ['alpha', 'beta', 'gamma'] }),
    startUpstream({ models: many }),
  ]);
  const nodes = Array.from({ length: 70 }, (_, at) => `row-${String(at).padStart(2, '0')}`).map((name) => [
    `${name}.yaml`,
    manifest('UpstreamNode', name, {
      baseURL: upstream.url,
      manualModels: ['m'],
      healthCheck: { mode: 'None' },
    }),
  ]);
  standalone = await startWithConsole({
    manifests: {
      ...Object.fromEntries(nodes),
      'one.yaml': manifest('UpstreamNode', 'one', {
        baseURL: upstream.url,
        displayName: 'The very large model server of the research department in the cellar',
        models: [{ name: 'beta', enabled: false }],
      }),
      'large.yaml': manifest('UpstreamNode', 'large', { baseURL: large.url }),
      'kept.yaml': manifest('UpstreamNode', 'kept', {
        baseURL: upstream.url,
        displayName: 'The model server whose manifest somebody broke',
      }),
      'torn.yaml': manifest('APIKey', 'torn', { hash: keyWithHash().hash }),
      'rotated.yaml': manifest('APIKey', 'rotated', {
        secretName: 'rotated',
        rotation: { revision: 1, overlapSeconds: 300 },
      }),
      'given.yaml': manifest('APIKey', 'given', { hash: keyWithHash().hash }),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop(), large?.stop()]);
});

async function sit(path: string, options: Parameters<typeof openConsole>[2] = {}): Promise<Person> {
  const person = await openConsole(browser, await standalone.newAddress(), options);
  await person.visit(path);
  return person;
}

const place = (page: Page): Promise<string> =>
  page.evaluate(
    `(document.activeElement.closest('tr')?.getAttribute('aria-rowindex') ?? document.activeElement.tagName)`,
  ) as Promise<string>;

test('Tab goes through every row of a long table, and back', async () => {
  await using person = await sit('/nodes');
  const { page } = person;
  await page.getByRole('checkbox', { name: 'Select all that are shown' }).focus();
  const seen = new Set<string>();
  const last = (await page.getByRole('table').getAttribute('aria-rowcount')) ?? '';
  for (let presses = 0; presses < 400 && !seen.has(last); presses++) {
    await page.keyboard.press('Tab');
    seen.add(await place(page));
  }
  expect([...seen].filter((each) => !/^\d+$/.test(each))).toEqual([]);
  expect(seen.has(last)).toBe(true);
  for (let presses = 0; presses < 150; presses++) await page.keyboard.press('Shift+Tab');
  expect(await place(page)).toMatch(/^\d+$/);
});

test('Tab pressed faster than the page is drawn goes through every row of a table of 3,006, in order, and back', async () => {
  await using person = await sit('/nodes/default/large/models');
  const { page } = person;
  await page.getByRole('checkbox', { name: 'Select all that are shown' }).focus();
  await page.evaluate(`{
    const row = (element) => Number(element?.closest?.('tr')?.getAttribute('aria-rowindex') ?? -1);
    globalThis.visited = [];
    document.addEventListener('focusin', ({ target }) => visited.push(row(target)));
    document.addEventListener('focusout', ({ relatedTarget }) => relatedTarget ?? visited.push(-1));
  }`);
  const burst = async (key: string, times: number): Promise<number[]> => {
    // Without waiting for one another: the browser gets them as fast as it takes them.
    await Promise.all(Array.from({ length: times }, () => page.keyboard.press(key)));
    return (await page.evaluate('visited.splice(0)')) as number[];
  };
  const down: number[] = [];
  for (let bursts = 0; bursts < 40 && down.at(-1) !== many.length + 1; bursts++) {
    down.push(...(await burst('Tab', Math.min(100, many.length + 1 - (down.at(-1) ?? 1)))));
  }
  const rows = Array.from({ length: many.length }, (_, at) => at + 2);
  // The buttons of the head come first.
  expect(down.filter((row) => row !== 1)).toEqual(rows);
  const up = await burst('Shift+Tab', 500);
  expect(up).toEqual(rows.slice(-501, -1).reverse());
});

test('Tab goes on from the focused row after the table was scrolled away from it', async () => {
  await using person = await sit('/nodes/default/large/models');
  const { page } = person;
  const frame = page.getByRole('region', { name: 'Models' });
  await page
    .getByRole('checkbox', { name: /^Select vendor/ })
    .nth(4)
    .focus();
  const at = Number(await place(page));
  for (const top of [60_000, 120_000]) {
    await frame.evaluate((element, top) => ((element as { scrollTop: number }).scrollTop = top), top);
    await page.waitForTimeout(200);
    expect(Number(await place(page))).toBe(at);
  }
  const visited: number[] = [];
  for (let presses = 0; presses < 8; presses++) {
    await page.keyboard.press('Tab');
    visited.push(Number(await place(page)));
  }
  expect(visited.filter((row) => row < at || row > at + 8)).toEqual([]);
  expect(visited.at(-1)).toBeGreaterThan(at);
});

test('on a phone the status of a node with a long name is seen', async () => {
  await using person = await sit('/nodes?search=cellar', { viewport: { width: 375, height: 740 } });
  const { page } = person;
  const status = page.getByRole('row', { name: /cellar/ }).locator('.phase');
  const box = await status.boundingBox();
  expect((box?.x ?? Number.NaN) + (box?.width ?? Number.NaN)).toBeLessThanOrEqual(375 - 12);
});

test('counts say how many models are enabled of all', async () => {
  await using person = await sit('/nodes?search=cellar');
  const { page } = person;
  await page.getByRole('link', { name: '2/3', exact: true }).waitFor();
});

test('a sync that failed does not pass for the last one that succeeded', async () => {
  await using person = await sit('/nodes/default/one');
  const { page } = person;
  upstream.answers.modelsStatus = 500;
  await page.getByRole('button', { name: 'Synchronize' }).click();
  await page.getByText('Last synchronization failed').waitFor();
  const facts = page.locator('.facts dl');
  expect(await facts.locator('dt').allTextContents()).toContain('Last try');
  await person.visit('/nodes?search=cellar');
  await page
    .getByRole('row', { name: /cellar/ })
    .getByText('last try failed')
    .waitFor();
  upstream.answers.modelsStatus = 200;
});

test('Copy beside a fresh key copies that key', async () => {
  await using person = await sit('/keys/new', { permissions: ['clipboard-read', 'clipboard-write'] });
  const { page } = person;
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('fresh');
  await page.getByRole('button', { name: 'Create' }).click();
  const key = (await page.getByTestId('new-key').textContent()) ?? '';
  await page.getByRole('button', { name: 'Copy OpenAI SDKs' }).click();
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(`OPENAI_API_KEY=${key}`);
});

test('Revoke asks about revoking; Rotate proposes the overlap of the key', async () => {
  await using person = await sit('/keys/default/rotated');
  const { page } = person;
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Rotate' }).click();
  expect(await dialog.getByRole('spinbutton').inputValue()).toBe('5');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByRole('heading', { name: 'Revoke rotated?' }).waitFor();
  await dialog.getByRole('textbox').fill('rotated');
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked rotated.').waitFor();
});

test('labels are words, and messages name the fields as the form does', async () => {
  await using person = await sit('/nodes/default/one');
  const { page } = person;
  await page.getByText('More', { exact: true }).click();
  const text = await page.locator('main').innerText();
  for (const label of ['TLS', 'Base URL', 'Models to keep', 'Models to leave out']) {
    await page.getByText(label, { exact: true }).first().waitFor({ state: 'attached' });
  }
  const words = await page
    .locator('form')
    .evaluate((form: unknown) => (form as { textContent: string }).textContent);
  for (const label of ['CA bundle', 'OpenAI extras', 'x-api-key', "the node's own namespace"]) {
    expect(words).toContain(label);
  }
  expect(words).not.toMatch(/\bTls\b|Ca bundle|Open AI|XAPIKey|\(default true\)|absent means/);
  expect(text).not.toMatch(/^[A-Z][a-z]+[A-Z][a-zA-Z]*:/m);
});

test('a manifest that is not in force is shown with its file, line, field and remedy, until it is fixed', async () => {
  await using person = await sit('/nodes');
  const { page } = person;
  const banner = page.getByRole('alert').filter({ hasText: 'not in force' });
  expect(await banner.count()).toBe(0);
  await standalone.folders.write(
    'broken.yaml',
    'apiVersion: modelgateway.dev/v1alpha1\nkind: UpstreamNode\nmetadata: {name: broken}\nspec:\n  baseURL: https://x.example/v1\n  priority: 777\n',
  );
  await banner.getByText(/broken\.yaml:6.*spec\.priority must be at most 100; lower it/).waitFor();
  // It is on every page, because it concerns all of them.
  await page.getByRole('link', { name: 'Keys' }).click();
  await banner.waitFor();
  await standalone.folders.write('more.yaml', 'foo: [bar');
  await banner.getByText(/more\.yaml.*is not YAML/).waitFor();
  await standalone.folders.remove('broken.yaml');
  await standalone.folders.remove('more.yaml');
  await banner.waitFor({ state: 'detached' });
});

test('3,006 models are switched off and on again by a pattern; what is too many says so in words', async () => {
  await using person = await sit('/nodes/default/large/models');
  const { page } = person;
  const dialog = page.getByRole('dialog');
  await page.getByText('3006 models').waitFor();
  await page.getByRole('checkbox', { name: 'Select all that are shown' }).check();
  await page.getByRole('button', { name: 'Disable selected' }).click();
  await dialog.getByText(/would need 3006 entries/).waitFor();
  await dialog.getByRole('textbox', { name: 'Pattern' }).fill('*:free');
  await dialog.getByRole('button', { name: 'Leave out' }).click();
  await page.getByText('2004 models').waitFor();
  expect(await standalone.manifest('large.yaml')).toContain('*:free');
  await page.getByRole('button', { name: 'Let in *:free' }).click();
  await page.getByText('3006 models').waitFor();
  // Of what is filtered the pattern is proposed.
  await page.getByRole('searchbox').fill('vendor-3');
  await page.getByRole('button', { name: 'Leave out by pattern' }).click();
  expect(await dialog.getByRole('textbox', { name: 'Pattern' }).inputValue()).toBe('*vendor-3*');
  await dialog.getByRole('button', { name: 'Leave out' }).click();
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await page.getByRole('searchbox').fill('');
  await page.getByText('3006 models').waitFor();
  expect(person.complaints.filter((text) => !/ 422 /.test(text))).toEqual([]);
});

test('of many pages in one browser four are live; one that gave way says so, and goes on when a person returns', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  const live = page.locator('.connection.live');
  await live.waitFor();
  const others: Page[] = [];
  for (let opened = 0; opened < 7; opened++) {
    const other = await page.context().newPage();
    others.push(other);
    await other.goto(page.url());
    await other.locator('.connection.live').waitFor();
  }
  await page.getByRole('alert').getByText('several pages of the console are open').waitFor();
  // Playwright makes each page believe that it has the focus all the time.
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await live.waitFor();
  const states = () => Promise.all(others.map((other) => other.locator('.connection').textContent()));
  await expect.poll(states).toEqual([...Array(4).fill('paused'), ...Array(3).fill('live')]);
});

test('what is kept in its last good version says so, on a phone too, and takes no edit', async () => {
  const { write } = standalone.folders;
  const unkept = await standalone.manifest('kept.yaml');
  await using person = await sit('/nodes?search=kept', { viewport: { width: 375, height: 740 } });
  const { page } = person;
  // It is checked after the many nodes of this place, a few at a time.
  await page.getByRole('row', { name: /ready/ }).waitFor({ timeout: 120_000 });
  await write('kept.yaml', `${unkept.trimEnd()}\n  priority: 500\n`);
  await write('torn.yaml', 'foo: [bar');
  const box = await page
    .getByRole('row', { name: /last good/ })
    .locator('.phase')
    .boundingBox();
  expect((box?.x ?? Number.NaN) + (box?.width ?? Number.NaN)).toBeLessThanOrEqual(375 - 12);
  const why = /It cannot be changed: the last good version is in force.*kept\.yaml:\d+/;
  const off = async (names: readonly string[], reason: RegExp): Promise<void> => {
    for (const name of names) {
      const button = page.getByRole('button', { name, exact: true });
      await expect.poll(() => button.isDisabled(), { message: name }).toBe(true);
      expect(await button.getAttribute('title'), name).toMatch(reason);
    }
  };
  await page.getByRole('checkbox', { name: 'Select kept' }).check();
  await off(['Enable', 'Disable', 'Synchronize'], why);
  await person.visit('/nodes/default/kept');
  await page.getByRole('heading', { name: 'last good version' }).waitFor();
  await off(['Disable', 'Synchronize', 'Delete'], why);
  await page.getByRole('note').getByText(why).waitFor();
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await person.visit('/keys/default/torn');
  await off(['Disable', 'Revoke'], /It cannot be changed.*torn\.yaml:1/);
  await write('kept.yaml', unkept);
  await person.visit('/nodes/default/kept');
  await expect.poll(() => page.getByRole('button', { name: 'Save' }).isEnabled()).toBe(true);
});
