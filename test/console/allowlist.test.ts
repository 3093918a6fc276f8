import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';
import { costsOf, typed } from './steps.ts';

const models = Array.from({ length: 4_000 }, (_, index) => `family-${index % 10}/model-${index}`);
/** Of processor time, for a letter among thousands of names: what is aimed for. */
const letterMs = 100;

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([
    startBrowser(),
    startUpstream({ models: ['alpha', 'beta', ...models] }),
  ]);
  standalone = await startWithConsole({
    manifests: {
      'one.yaml': manifest('UpstreamNode', 'one', {
        baseURL: upstream.url,
        models: [{ name: 'alpha', aliases: ['model-of-choice'] }],
      }),
      'job.yaml': manifest('APIKey', 'job', { secretName: 'job', models: ['alpha', 'gone', 'beta'] }),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop()]);
});

const offered = (page: Page): Locator => page.getByRole('listbox').getByRole('option');

const modelsIn = async (file: string): Promise<readonly string[]> => {
  const text = await standalone.manifest(file);
  return text.startsWith('{')
    ? (JSON.parse(text) as { spec: { models: string[] } }).spec.models
    : [...text.matchAll(/^ +- (.+)$/gm)].map(([, name = '']) => name);
};

test('by mouse: names and aliases are offered as they are typed, taken by a click, pasted and removed', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await page.getByRole('row', { name: /one.*ready/ }).waitFor();
  await person.visit('/keys/new');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('clicked');
  const input = page.getByRole('combobox', { name: 'Models' });
  await input.pressSequentially('MODEL-');
  // What starts with it, then what has it at the start of a word; the rest is told of.
  await expect.poll(() => offered(page).first().textContent()).toBe('model-of-choice');
  await page.getByText('and 3951 more: type on').waitFor();
  await page.getByRole('listbox').getByRole('option', { name: 'model-of-choice' }).click();
  const chosen = page.getByRole('list', { name: 'Models of this key' }).getByRole('listitem');
  expect(await chosen.locator('code').allTextContents()).toEqual(['model-of-choice']);
  expect(await input.inputValue()).toBe('');
  await expect.poll(() => offered(page).count()).toBe(0);
  await input.pressSequentially('model-399');
  await page.getByRole('listbox').getByRole('option', { name: 'family-9/model-3999' }).click();
  // What was taken is offered no more; what no node has is taken, too, and marked.
  await input.pressSequentially('model-of');
  expect(await offered(page).count()).toBe(0);
  await input.fill('later-one, half');
  await page.getByRole('listitem').filter({ hasText: 'later-one' }).getByText('no node has it').waitFor();
  await page.getByRole('button', { name: 'Remove family-9/model-3999' }).click();
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    data.setData('text', 'way\\nbeta\\nalpha');
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  })()`);
  await input.fill('alp');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByTestId('new-key').waitFor();
  // A text that was not taken counts as well.
  expect(await modelsIn('apikey-clicked.yaml')).toEqual([
    'model-of-choice',
    'later-one',
    'halfway',
    'beta',
    'alpha',
    'alp',
  ]);
  expect(person.complaints).toEqual([]);
});

test('by keyboard: arrows mark, Enter takes, Escape closes, a removal keeps the focus, and other fields stay', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/keys/default/job');
  const input = page.getByRole('combobox', { name: 'Models' });
  const marked = offered(page).and(page.locator('[aria-selected=true]'));
  await page.getByRole('textbox', { name: 'Display name' }).fill('The job');
  await input.focus();
  await page.keyboard.type('model-12');
  await expect.poll(() => input.getAttribute('aria-expanded')).toBe('true');
  expect(await input.getAttribute('aria-activedescendant')).toBeNull();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await marked.textContent()).toBe('family-0/model-1200');
  expect(await input.getAttribute('aria-activedescendant')).toBe(await marked.getAttribute('id'));
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  // Round the end: the last of fifty, scrolled into sight.
  expect(await offered(page).count()).toBe(50);
  expect(
    await marked.evaluate((option: unknown) => (option as { nextSibling: unknown }).nextSibling),
  ).toBeNull();
  await expect.poll(() => isSeen(marked)).toBe(true);
  await page.keyboard.press('ArrowDown');
  const first = (await marked.textContent()) ?? '';
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove ${first}` }).waitFor();
  await page.keyboard.type('bet');
  await page.getByRole('listbox').waitFor({ state: 'hidden' });
  await page.keyboard.type('ter,');
  await page.getByRole('button', { name: 'Remove better' }).waitFor();
  await page.keyboard.type('model');
  await page.getByRole('listbox').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('listbox').waitFor({ state: 'hidden' });
  expect(await input.inputValue()).toBe('model');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Remove model', exact: true }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  // The second button: of the name that no node has.
  await expect.poll(() => page.getByRole('button', { name: 'Remove gone' }).count()).toBe(0);
  expect(
    await input.evaluate(
      (element: unknown) =>
        element === (element as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
    ),
  ).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByText('Saved job.').waitFor();
  expect(await modelsIn('job.yaml')).toEqual(['alpha', 'beta', first, 'better', 'model']);
  expect(JSON.parse(await standalone.manifest('job.yaml')).spec.displayName).toBe('The job');
  expect(person.complaints).toEqual([]);
});

test('a letter among thousands of names is drawn at once, beside a thousand that are taken', async () => {
  await using person = await openConsole(browser, await standalone.newAddress());
  const { page } = person;
  await person.visit('/keys/new');
  const input = page.getByRole('combobox', { name: 'Models' });
  await input.click();
  await offered(page).first().waitFor();
  await input.fill(`${models.slice(0, 999).join(',')},`);
  await page.getByRole('button', { name: `Remove ${models[998]}`, exact: true }).waitFor();
  const letters = ['f', 'fa', 'family-3', 'family-3/model-33', 'el-2', ''];
  const costs = await costsOf(
    page,
    letters.map((text) => typed('input[role=combobox]', text)),
  );
  console.log(
    `letters among ${models.length} names: ${costs.map(Math.round).join(', ')} ms of processor time`,
  );
  expect(Math.max(...costs)).toBeLessThan(letterMs);
});

function isSeen(option: { evaluate<T>(look: (element: unknown) => T): Promise<T> }): Promise<boolean> {
  interface Box {
    readonly top: number;
    readonly bottom: number;
  }
  interface Seen {
    getBoundingClientRect(): Box;
    closest(selector: string): Seen;
  }
  return option.evaluate((element) => {
    const own = (element as Seen).getBoundingClientRect();
    const frame = (element as Seen).closest('.choices').getBoundingClientRect();
    return own.top >= frame.top - 1 && own.bottom <= frame.bottom + 1;
  });
}
