import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, type Person, startBrowser } from './browser.ts';
import { expectTrap, focused } from './focus.ts';
import { type Hands, handsAt, ways } from './hands.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

// Whatever a page offers is done here by mouse and again by keyboard alone, by the same steps.

const caller = keyWithHash();
let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;

beforeAll(async () => {
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models: ['alpha', 'beta'] })]);
  const node = (name: string, spec: object = {}): string =>
    manifest('UpstreamNode', name, { baseURL: upstream.url, ...spec });
  const files = ways.flatMap((by) => [
    [`${by}-one.yaml`, node(`${by}-one`, { apiKeySecretRef: { name: 'sk' } })],
    [`${by}-two.yaml`, node(`${by}-two`, { priority: 10, models: [{ name: 'beta', aliases: ['second'] }] })],
    [`${by}-shared.yaml`, node(`${by}-shared`, { priority: 5 })],
    [`${by}-job.yaml`, manifest('APIKey', `${by}-job`, { secretName: `${by}-job` })],
  ]);
  standalone = await startWithConsole({
    manifests: {
      ...Object.fromEntries(files),
      'elsewhere.yaml': manifest(
        'UpstreamNode',
        'elsewhere',
        { baseURL: upstream.url },
        { namespace: 'research' },
      ),
      'secret.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: sk}\nstringData: {apiKey: sk-node}\n',
      'app.yaml': manifest('APIKey', 'app', { hash: caller.hash }),
      'narrow.yaml': manifest('APIKey', 'narrow', { secretName: 'narrow', models: ['beta'] }),
    },
  });
});

afterAll(async () => {
  await standalone?.[Symbol.asyncDispose]();
  await Promise.all([browser?.close(), upstream?.stop()]);
});

describe.each(ways)('by %s', (by) => {
  /** A person at a page, the hands, and the controls by their names. */
  async function sit(path: string): Promise<Person & Controls & { readonly hands: Hands }> {
    const person = await openConsole(browser, await standalone.newAddress(), {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await person.visit(path);
    return { ...person, ...controlsOf(person), hands: handsAt(person.page, by) };
  }

  test('nodes: searched, filtered, sorted; several disabled, enabled and synchronized; one added', async () => {
    await using at = await sit('/nodes');
    const { page, hands } = at;
    const links = page.locator('tbody a').filter({ hasNotText: /^\d+$/ });
    await hands.choose(at.combobox('Namespace'), 'research');
    await expect.poll(() => links.allTextContents()).toEqual(['elsewhere']);
    await hands.choose(at.combobox('Namespace'), 'Any namespace');
    await hands.type(page.getByRole('searchbox'), `${by}-`);
    await expect.poll(() => links.count()).toBe(3);
    await hands.choose(at.combobox('Status'), 'ready');
    await page.waitForURL(/status=ready/);
    await expect.poll(() => links.count()).toBe(3);
    await hands.press(at.button('Priority'));
    await expect.poll(() => links.first().textContent()).toBe(`${by}-shared`);
    await hands.press(at.checkbox('Select all that are shown'));
    await hands.press(at.checkbox(`Select ${by}-shared`));
    await page.getByText('2 selected').waitFor();
    await hands.press(at.button('Disable'));
    await page.getByText('Disabled 2 resources.').waitFor();
    await hands.press(at.button('Enable'));
    await page.getByText('Enabled 2 resources.').waitFor();
    await hands.press(at.button('Synchronize'));
    await page.getByText('Asked for 2 synchronizations.').waitFor();
    await hands.press(at.button('Add a node'));
    await hands.type(at.textbox('Name'), `${by}-added`);
    await hands.type(at.textbox('Base URL'), upstream.url);
    await hands.press(at.button('Add'));
    await page.getByRole('heading', { name: /added.*ready/ }).waitFor();
    expect(at.complaints).toEqual([]);
  });

  test('a node: attributes, disabled and enabled; wrong fields, manual models, the key kept and removed; synchronized', async () => {
    await using at = await sit(`/nodes/default/${by}-one`);
    const { page, hands } = at;
    const file = (): Promise<string> => standalone.manifest(`${by}-one.yaml`);
    await page.getByText('set, from the Secret sk, entry apiKey').waitFor();
    const terms = await page.locator('.facts dt').allTextContents();
    expect(terms).toEqual([
      ...['Models', 'Last sync', 'Last health check', 'Date added', 'API key', 'Declared in'],
    ]);
    await hands.press(at.button('Disable'));
    await page.getByRole('heading', { name: /disabled/ }).waitFor();
    await hands.press(at.button('Enable'));
    await page.getByText(`Enabled ${by}-one.`).waitFor();
    await expect.poll(file).not.toContain('"enabled":false');

    const priority = page.getByRole('spinbutton', { name: 'Priority' });
    await hands.type(priority, '777');
    await hands.press(at.button('Save'));
    await page.getByText('Nothing is stored yet: fix what is marked above.').waitFor();
    expect(await priority.getAttribute('aria-invalid')).toBe('true');
    // The first wrong field has the focus, and says why.
    await expect.poll(() => page.locator('input:focus').getAttribute('aria-labelledby')).toMatch(/priority/);
    await page.getByRole('alert').getByText('100').waitFor();
    await hands.type(priority, '60');
    await hands.type(at.textbox('Manual models'), 'by-hand, another\nthird');
    await hands.press(at.button('Save'));
    await page.getByText(`Saved ${by}-one.`).waitFor();
    const { spec } = JSON.parse(await file()) as { spec: Record<string, unknown> };
    expect(spec).toMatchObject({
      priority: 60,
      manualModels: ['by-hand', 'another', 'third'],
      apiKeySecretRef: { name: 'sk' },
    });
    await hands.press(at.checkbox('Remove the API key'));
    await hands.press(at.button('Save'));
    await expect.poll(file).not.toContain('apiKeySecretRef');
    await page.getByRole('link', { name: 'Models (5)' }).waitFor();
    await hands.press(at.button('Synchronize'));
    await page.getByText('Synchronized: the same models as before.').waitFor();
    expect(at.complaints.filter((text) => !text.includes('422'))).toEqual([]);
  });

  test('models of a node: filtered by name, alias and source; disabled, enabled again, undone', async () => {
    await using at = await sit(`/nodes/default/${by}-two/models`);
    const { page, hands } = at;
    await page.getByRole('row', { name: /beta yes Discovered second/ }).waitFor();
    const filter = page.getByRole('searchbox');
    await hands.type(filter, 'discovered');
    await page.getByText('2 models').waitFor();
    await hands.type(filter, 'seco');
    await page.getByText('1 of 2 models').waitFor();
    await hands.press(at.checkbox('Select beta'));
    await hands.press(at.button('Disable selected'));
    await page.getByText('Disabled beta.').waitFor();
    await page.getByRole('row', { name: /beta no/ }).waitFor();
    await hands.press(at.checkbox('Select beta'));
    await hands.press(at.button('Enable selected'));
    await page.getByText('Enabled beta.').waitFor();
    await page.getByRole('row', { name: /beta yes/ }).waitFor();
    await hands.press(at.button('Undo').last());
    await page.getByRole('row', { name: /beta no/ }).waitFor();
    expect(at.complaints).toEqual([]);
  });

  test('keys: into a Secret with an expiry, a master key shown once; disabled, enabled, rotated, revoked; snippets', async () => {
    await using at = await sit('/keys/new');
    const { page, hands } = at;
    await hands.type(at.textbox('Name'), `${by}-made`);
    await hands.pickOther(page.getByRole('radio', { name: /Into a Secret/ }));
    await hands.type(at.textbox('Name of the Secret'), `${by}-secret`);
    await hands.typeNewYear(page.getByLabel('Expiration time'), 2031);
    await hands.press(at.button('Create'));
    await page.waitForURL(`**/keys/default/${by}-made`);
    const made = await standalone.manifest(`apikey-${by}-made.yaml`);
    expect(made).toContain(`secretName: ${by}-secret`);
    expect(made).toMatch(/expirationTime: "?203[01]-/);
    await hands.press(at.button('Disable'));
    await page.getByRole('heading', { name: /disabled/ }).waitFor();
    await hands.press(at.button('Enable'));
    await page.getByText(`Enabled ${by}-made.`).waitFor();
    await hands.press(at.button('Rotate'));
    await hands.type(page.getByRole('dialog').getByRole('spinbutton'), '5');
    await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Rotate' }));
    await page.getByText('the old one stays valid for 5 minutes').waitFor();
    await hands.choose(at.combobox('With'), 'Claude Code');
    await hands.press(at.button('Copy Claude Code'));
    await expect
      .poll(() => page.evaluate('navigator.clipboard.readText()'))
      .toContain(`ANTHROPIC_BASE_URL=${standalone.baseURL.replace(/\/v1$/, '')}`);
    await hands.press(at.button('Revoke'));
    await hands.type(page.getByRole('textbox', { name: /Type .*-made/ }), `${by}-made`);
    await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
    await page.waitForURL('**/keys');

    await hands.press(page.getByRole('link', { name: 'Master keys' }));
    await hands.press(page.getByRole('button', { name: 'Create a master key' }).first());
    await hands.type(at.textbox('Name'), `${by}-master`);
    await hands.press(at.button('Create'));
    const text = (await page.getByTestId('new-key').textContent()) ?? '';
    expect(text).toMatch(/^mgm_/);
    await hands.press(at.button('Copy the key'));
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(text);
    await hands.press(at.button('I have copied it'));
    await page.waitForURL(`**/master-keys/default/${by}-master`);
    expect(at.complaints).toEqual([]);
  });

  test('routing: a model, a key, a format', async () => {
    await using at = await sit('/routing');
    const { page, hands } = at;
    await hands.type(at.combobox('Model'), 'beta');
    await page.getByRole('heading', { name: 'First' }).waitFor();
    await hands.choose(at.combobox('Key'), 'default/narrow');
    await page.waitForURL(/key=default%2Fnarrow/);
    await hands.choose(at.combobox('Format'), 'Messages');
    await page.getByText('converted messages->chat').first().waitFor();
    await hands.type(at.combobox('Model'), 'alpha');
    await page.getByText('model_not_allowed').first().waitFor();
    expect(at.complaints).toEqual([]);
  });

  test('a chat in each format, streamed and whole, with a key that is shown nowhere', async () => {
    await using at = await sit('/try');
    const { page, hands } = at;
    await hands.type(at.textbox('API key'), caller.text);
    await hands.type(page.getByRole('combobox', { name: 'Model', exact: true }), 'alpha');
    for (const [format, conversion] of [
      ['Chat completions', 'none'],
      ['Responses', 'responses->chat'],
      ['Messages', 'messages->chat'],
      ['Completions', 'completions->chat'],
    ] as const) {
      await hands.choose(at.combobox('Format'), format);
      await hands.type(at.textbox('Message'), 'Hello?');
      await hands.press(at.button('Send'));
      await page
        .locator('dl.facts')
        .getByText(/^default\//)
        .waitFor();
      await page.locator('dl.facts').getByText(conversion, { exact: true }).waitFor();
      await expect.poll(() => page.locator('.turn.assistant p').textContent()).toMatch(/\w/);
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
      await hands.press(at.button('Start over'));
      await expect.poll(() => page.locator('.turn').count()).toBe(0);
    }
    await hands.press(page.getByRole('switch', { name: 'Stream' }));
    await hands.type(at.textbox('Message'), 'Whole?');
    await hands.press(at.button('Send'));
    await expect.poll(() => page.locator('.turn.assistant p').textContent()).toMatch(/\w/);
    await hands.press(page.getByText('Raw request'));
    await page.locator('pre').getByText('"stream": false').waitFor();
    await hands.press(page.getByText('Raw answer'));
    await page.locator('pre').getByText('"choices"').waitFor();
    expect(await page.content()).not.toContain(caller.text);
    expect(at.complaints).toEqual([]);
  });

  test('every edit: YAML first where that is switched on; a conflict is shown, left alone, and then overcome', async () => {
    await using at = await sit(`/nodes/default/${by}-shared`);
    const { page, hands } = at;
    const dialog = page.getByRole('dialog');
    const file = `${by}-shared.yaml`;
    const shared = async () => JSON.parse(await standalone.manifest(file)).spec;
    await hands.press(at.checkbox('Review each change'));
    await hands.press(at.button('Disable'));
    await dialog.locator('.diff .new').getByText('enabled').waitFor();
    await hands.press(dialog.getByRole('button', { name: 'Apply' }));
    await page.getByRole('heading', { name: /disabled/ }).waitFor();
    await hands.press(at.checkbox('Review each change'));

    const conflict = async (priority: number, weight: number): Promise<void> => {
      await hands.type(page.getByRole('spinbutton', { name: 'Priority' }), String(priority));
      await hands.press(at.button('Show YAML'));
      await dialog.getByRole('heading', { name: `Change ${by}-shared` }).waitFor();
      const theirs = { baseURL: upstream.url, priority: 5, enabled: false, weight };
      await standalone.folders.write(file, manifest('UpstreamNode', `${by}-shared`, theirs));
      await hands.press(dialog.getByRole('button', { name: 'Apply' }));
      await dialog.getByRole('heading', { name: 'Somebody else changed it too' }).waitFor();
      await dialog.locator('.diff .new').getByText(String(weight)).waitFor();
    };
    await conflict(40, 33);
    if (by === 'keyboard') await expectTrap(page, dialog, 'Show YAML');
    else {
      await hands.press(dialog.getByRole('button', { name: 'Cancel' }));
      await expect.poll(() => focused(page)).toBe('Show YAML');
    }
    expect(await shared()).toMatchObject({ priority: 5, weight: 33 });
    // What was typed is still there, over what it was typed over, until it is discarded.
    await hands.press(at.button('Discard mine'));
    await expect.poll(() => page.getByRole('spinbutton', { name: 'Weight' }).inputValue()).toBe('33');
    await conflict(41, 34);
    await hands.press(dialog.getByRole('button', { name: 'Apply mine on top' }));
    // Whoever wanted to see it sees it again, as it is now.
    await dialog.getByRole('heading', { name: `Change ${by}-shared` }).waitFor();
    await hands.press(dialog.getByRole('button', { name: 'Apply' }));
    await page.getByText(`Saved ${by}-shared.`).waitFor();
    expect(await shared()).toMatchObject({ priority: 41, weight: 34 });
    await hands.press(at.button('Delete'));
    await hands.type(page.getByRole('textbox', { name: /Type .*-shared/ }), `${by}-shared`);
    await hands.press(dialog.getByRole('button', { name: 'Delete' }));
    await page.waitForURL('**/nodes');
    await expect.poll(() => page.getByRole('link', { name: `${by}-shared` }).count()).toBe(0);
    expect(at.complaints.filter((text) => !/ 409 /.test(text))).toEqual([]);
  });
});

interface Controls {
  button(name: string): Locator;
  checkbox(name: string): Locator;
  combobox(name: string): Locator;
  textbox(name: string): Locator;
}

function controlsOf({ page }: Person): Controls {
  const exact = true;
  return {
    button: (name) => page.getByRole('button', { name, exact }),
    checkbox: (name) => page.getByRole('checkbox', { name, exact }),
    combobox: (name) => page.getByRole('combobox', { name, exact }),
    textbox: (name) => page.getByRole('textbox', { name, exact }),
  };
}
