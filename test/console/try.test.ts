import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { openConsole, type Person, startBrowser } from './browser.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

const caller = keyWithHash();
let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['alpha'] })]);
  standalone = await startWithConsole({
    manifests: {
      'node.yaml': manifest('UpstreamNode', 'node', {
        baseURL: upstream.url,
        nativeFormats: ['Responses', 'Messages', 'Completions'],
      }),
      'key.yaml': manifest('APIKey', 'app', { hash: caller.hash }),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop()]);
});

const nodeFault = (status: number): Behaviour => ({
  kind: 'answer',
  status,
  body: { error: { message: `the node says ${status}`, type: 'server_error' } },
});
/** In every format a stream of the node ends without its last events. */
const formats = [
  ['chat', '/chat/completions'],
  ['responses', '/responses'],
  ['messages', '/messages'],
  ['completions', '/completions'],
] as const;

describe.each(formats)('tried as %s', (format, path) => {
  test('a stream that the node cut off, and one that holds an error, are failures, and no part of the conversation', async () => {
    await using person = await sit(format);
    const { page } = person;
    upstream.respondWith(path, [
      { kind: 'resetMidStream', chunks: 2 },
      {
        kind: 'errorInStream',
        chunks: 2,
        error: { error: { message: 'out of memory', type: 'server_error' } },
      },
    ]);
    await say(page, 'the first question');
    const failure = page.getByRole('group', { name: 'Failed' });
    await failure.getByText(/broke off|ended|closed|lost/).waitFor();
    await say(page, 'the second question');
    await expect.poll(() => failure.count()).toBe(2);
    expect(await page.getByRole('group', { name: 'Answer' }).count()).toBe(0);
    await say(page, 'the third question');
    await page.getByRole('group', { name: 'Answer' }).waitFor();
    const sent = upstream.requestsTo(path).at(-1)?.body.toString() ?? '';
    expect(sent).toContain('the third question');
    expect(sent).not.toMatch(/first question|second question|assistant/);
    // A good turn is part of the conversation, as before; completions have none.
    await say(page, 'the fourth question');
    await expect.poll(() => page.getByRole('group', { name: 'Answer' }).count()).toBe(2);
    const last = upstream.requestsTo(path).at(-1)?.body.toString() ?? '';
    if (format !== 'completions') expect(last).toContain('the third question');
    upstream.respondWith(path, undefined);
  });
});

test('401, 404 and 500 are failures, in red, with status and words', async () => {
  await using person = await sit('chat');
  const { page } = person;
  const failure = page.getByRole('group', { name: 'Failed' });
  await page.getByRole('textbox', { name: 'API key' }).fill(caller.text.slice(0, -1));
  await say(page, 'with a key cut off');
  await failure
    .filter({ hasText: '401' })
    .getByText(/mistyped|cut off/)
    .waitFor();
  const red = await failure.locator('strong').evaluate(colourOf);
  expect(red).toBe(await page.evaluate(badColour));
  // Nobody served it: there is nothing to say of a node.
  const terms = await page.locator('dl.facts dt').allTextContents();
  expect(terms).toEqual(['Status', 'Total']);
  // What was asked is there again, to be sent once the reason is fixed.
  expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('with a key cut off');
  await page.getByRole('textbox', { name: 'API key' }).fill(caller.text);
  await page.getByRole('combobox', { name: 'Model' }).fill('nowhere');
  await say(page, 'of an unknown model');
  await failure
    .filter({ hasText: '404' })
    .getByText(/nowhere/)
    .waitFor();
  await page.getByRole('combobox', { name: 'Model' }).fill('alpha');
  for (const stream of [true, false]) {
    await page.getByRole('switch', { name: 'Stream' }).setChecked(stream);
    upstream.respondWith('/chat/completions', [nodeFault(500), nodeFault(500)]);
    await say(page, `of a broken node, ${stream}`);
    await failure
      .filter({ hasText: '500' })
      .nth(stream ? 0 : 1)
      .getByText('the node says 500')
      .waitFor();
  }
  upstream.respondWith('/chat/completions', undefined);
  await say(page, 'a good question');
  await page.getByRole('group', { name: 'Answer' }).waitFor();
  const { messages } = JSON.parse(
    upstream.requestsTo('/chat/completions').at(-1)?.body.toString() ?? '{}',
  ) as {
    messages: unknown;
  };
  expect(messages).toEqual([{ role: 'user', content: 'a good question' }]);
});

/** What the page's own mark of what is bad looks like. */
const badColour = `(() => {
  const mark = document.body.appendChild(document.createElement('span'));
  mark.className = 'phase-error';
  const { color } = getComputedStyle(mark);
  mark.remove();
  return color;
})()`;
const colourOf = (element: unknown): string =>
  (
    element as { ownerDocument: { defaultView: { getComputedStyle(of: unknown): { color: string } } } }
  ).ownerDocument.defaultView.getComputedStyle(element).color;

async function sit(format: string): Promise<Person> {
  const person = await openConsole(browser, await standalone.newAddress());
  await person.visit('/try?model=alpha');
  await person.page.getByRole('textbox', { name: 'API key' }).fill(caller.text);
  await person.page.getByRole('combobox', { name: 'Format' }).selectOption(format);
  return person;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
