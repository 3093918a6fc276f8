import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PageKind } from '../../src/console/shapes.ts';
import { resourcePathOf } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, type Person, startBrowser } from './browser.ts';
import { addPerson, startClusterConsole } from './cluster-console.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

// Between opening a form and saving it somebody else saves, or edits the file: nothing of either is lost.

type Spec = Readonly<Record<string, unknown>>;

/** Where the resources are: people who open the console there, and what is stored. */
interface Place {
  readonly namespace: string;
  sit(path: string): Promise<Person>;
  stored(kind: PageKind, name: string): Promise<Spec>;
  /** Changes a resource without the console: an edit of the file, or kubectl. */
  change(kind: PageKind, name: string, spec: Spec): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
}

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const declared = (baseURL: string): readonly (readonly [kind: PageKind, name: string, spec: Spec])[] => [
  ['UpstreamNode', 'shared', { baseURL, priority: 5, weight: 20 }],
  ['UpstreamNode', 'other', { baseURL, priority: 5, weight: 20 }],
  ['UpstreamNode', 'asked', { baseURL, priority: 5, weight: 20 }],
  ['APIKey', 'shared', { secretName: 'shared' }],
];

function folder(): Place {
  let upstream: ScriptedUpstream;
  let standalone: StandaloneWithConsole;
  const fileOf = (kind: PageKind, name: string): string => `${kind}-${name}.yaml`;
  const stored = async (kind: PageKind, name: string): Promise<Spec> =>
    (JSON.parse(await standalone.manifest(fileOf(kind, name))) as { spec: Spec }).spec;
  return {
    namespace: 'default',
    stored,
    async sit(path) {
      const person = await openConsole(browser, await standalone.newAddress());
      await person.visit(path);
      return person;
    },
    async change(kind, name, spec) {
      const now = { ...(await stored(kind, name)), ...spec };
      await standalone.folders.write(fileOf(kind, name), manifest(kind, name, now));
    },
    async open() {
      upstream = await startUpstream({ models: ['alpha'] });
      const files = declared(upstream.url).map(([kind, name, spec]) => [
        fileOf(kind, name),
        manifest(kind, name, spec),
      ]);
      standalone = await startWithConsole({ manifests: Object.fromEntries(files) });
    },
    async close() {
      await standalone?.[Symbol.asyncDispose]();
      await upstream?.stop();
    },
  };
}

function cluster(): Place {
  let stage: Stage;
  let console: Awaited<ReturnType<typeof startClusterConsole>>;
  let address = '';
  const state: { cookies?: Awaited<ReturnType<Person['context']['storageState']>> } = {};
  return {
    get namespace() {
      return stage.home;
    },
    async sit(path) {
      // An address is good for one browser: the second one is another window of the same person.
      const person =
        state.cookies === undefined
          ? await openConsole(browser, address)
          : await openConsole(browser, new URL('/nodes', address).href, { storageState: state.cookies });
      state.cookies ??= await person.context.storageState();
      await person.visit(path);
      return person;
    },
    async stored(kind, name) {
      return (await stage.resources.get(kind, stage.home, name)).spec;
    },
    async change(kind, name, spec) {
      const path = resourcePathOf(kind, stage.home, name);
      await stage.cluster.client.ask('PATCH', `${path}?fieldManager=kubectl-edit`, { body: { spec } });
    },
    async open() {
      stage = await startStage({ namespaces: ['lost-updates'] });
      const upstream = await stage.upstream({ models: ['alpha'] });
      for (const [kind, name, spec] of declared(upstream.url)) {
        const path = resourcePathOf(kind, stage.home);
        const body = { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { name }, spec };
        await stage.cluster.client.ask('POST', `${path}?fieldManager=kubectl-create`, { body });
      }
      const verbs = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'];
      console = await startClusterConsole(await addPerson(stage.cluster, 'edits', [stage.home], verbs));
      address = console.address;
    },
    async close() {
      await console?.[Symbol.asyncDispose]();
      await stage?.[Symbol.asyncDispose]();
    },
  };
}

describe.each([
  ['a folder', folder()],
  ['a cluster', cluster()],
] as const)('in %s', (_, place) => {
  beforeAll(() => place.open());
  afterAll(() => place.close());

  const priority = (page: Page) => page.getByRole('spinbutton', { name: 'Priority' });
  const weight = (page: Page) => page.getByRole('spinbutton', { name: 'Weight' });

  test("a save that would overwrite somebody else's is a conflict that shows both; either can be chosen", async () => {
    const path = `/nodes/${place.namespace}/shared`;
    await using person = await place.sit(path);
    const { page } = person;
    const dialog = page.getByRole('dialog');
    await priority(page).fill('21');
    await place.change('UpstreamNode', 'shared', { priority: 99, weight: 33 });
    // It is said as soon as it is known, and what is typed stays.
    await page.getByText(/was changed since you began/).waitFor();
    expect(await priority(page).inputValue()).toBe('21');
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('row', { name: /Priority 5 99 21/ }).waitFor();
    expect(await place.stored('UpstreamNode', 'shared')).toMatchObject({ priority: 99, weight: 33 });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await priority(page).inputValue()).toBe('21');

    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Keep theirs' }).click();
    await expect.poll(() => priority(page).inputValue()).toBe('99');
    expect(await place.stored('UpstreamNode', 'shared')).toMatchObject({ priority: 99, weight: 33 });

    await priority(page).fill('22');
    await place.change('UpstreamNode', 'shared', { priority: 98 });
    await page.getByText(/was changed since you began/).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('row', { name: /Priority 99 98 22/ }).waitFor();
    await dialog.getByRole('button', { name: 'Apply mine on top' }).click();
    await page.getByText('Saved shared.').waitFor();
    expect(await place.stored('UpstreamNode', 'shared')).toMatchObject({ priority: 22, weight: 33 });
    // What was saved is what the next save starts from: no conflict with oneself.
    await weight(page).fill('34');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await place.stored('UpstreamNode', 'shared'))['weight']).toBe(34);
    expect(await dialog.count()).toBe(0);
    expect(person.complaints.filter((text) => !/ 409 /.test(text))).toEqual([]);
  });

  test('two people save two fields: the second one sees the change of the first, and both are stored', async () => {
    const path = `/nodes/${place.namespace}/other`;
    await using one = await place.sit(path);
    await using other = await place.sit(path);
    await weight(other.page).fill('44');
    await priority(one.page).fill('77');
    await one.page.getByRole('button', { name: 'Save' }).click();
    await one.page.getByText('Saved other.').waitFor();
    await other.page.getByRole('button', { name: 'Save' }).click();
    const dialog = other.page.getByRole('dialog');
    await dialog.locator('.diff .new').getByText('77').waitFor();
    await dialog.getByRole('button', { name: 'Apply mine on top' }).click();
    await other.page.getByText('Saved other.').waitFor();
    expect(await place.stored('UpstreamNode', 'other')).toMatchObject({ priority: 77, weight: 44 });
  });

  test('a key that somebody disabled while its name was typed stays disabled', async () => {
    await using person = await place.sit(`/keys/${place.namespace}/shared`);
    const { page } = person;
    const name = page.getByRole('textbox', { name: 'Display name' });
    await name.fill('Mine');
    await place.change('APIKey', 'shared', { enabled: false });
    await page.getByText(/was changed since you began/).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply mine on top' }).click();
    await page.getByText('Saved shared.').waitFor();
    expect(await place.stored('APIKey', 'shared')).toMatchObject({ enabled: false, displayName: 'Mine' });
  });

  test('the server refuses an edit of an old version with 409, and a synchronization asked for meanwhile is no conflict', async () => {
    const path = `/nodes/${place.namespace}/asked`;
    await using person = await place.sit(path);
    const { page } = person;
    const url = `/api/resources/UpstreamNode/${place.namespace}/asked`;
    const { version } = (await page.evaluate(`fetch('${url}').then((answer) => answer.json())`)) as {
      version: string;
    };
    await place.change('UpstreamNode', 'asked', { priority: 66 });
    const body = { wishes: { edits: [{ path: ['spec', 'priority'], value: 7 }] }, version };
    const refused = (await page.evaluate(
      `fetch('${url}', {method: 'POST', headers: {'content-type': 'application/json'}, body: ${JSON.stringify(JSON.stringify(body))}})
        .then(async (answer) => ({ status: answer.status, said: await answer.json() }))`,
    )) as { status: number; said: { error: { reason: string } } };
    expect(refused).toMatchObject({ status: 409, said: { error: { reason: 'Conflict' } } });
    expect(await place.stored('UpstreamNode', 'asked')).toMatchObject({ priority: 66 });

    await expect.poll(() => priority(page).inputValue()).toBe('66');
    await weight(page).fill('55');
    await page.getByRole('button', { name: 'Synchronize' }).click();
    await page.getByText('Asked for a synchronization.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved asked.').waitFor();
    expect(await place.stored('UpstreamNode', 'asked')).toMatchObject({ priority: 66, weight: 55 });
  });

  test("one's own change by a button is no conflict for what is typed right after it", async () => {
    await using person = await place.sit(`/nodes/${place.namespace}/asked`);
    const { page } = person;
    await weight(page).waitFor();
    const held = Promise.withResolvers<void>();
    // The page reads what it has changed late.
    await page.route('**/api/resources/UpstreamNode/**', async (route) => {
      if (route.request().method() === 'GET') await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled asked.').waitFor();
    await weight(page).fill('61');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved asked.').waitFor();
    held.resolve();
    expect(await place.stored('UpstreamNode', 'asked')).toMatchObject({ weight: 61, enabled: false });
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
