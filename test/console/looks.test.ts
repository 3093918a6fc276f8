import { mkdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import { openConsole, type Person, startBrowser } from './browser.ts';
import { scenesOf } from './scenes.ts';
import { type StandaloneWithConsole, startWithConsole } from './standalone-console.ts';

const folder = fileURLToPath(new URL('screenshots/', import.meta.url));
const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { colorScheme: 'light', reducedMotion: 'reduce' },
  dark: { colorScheme: 'dark', reducedMotion: 'reduce' },
  narrow: { colorScheme: 'light', reducedMotion: 'reduce', viewport: { width: 375, height: 720 } },
};
const caller = keyWithHash();
const scenes = scenesOf(caller.text);

const onPremises = (url: string): string => `# Owned by the platform team.
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: on-premises
spec:
  displayName: On premises
  baseURL: ${url}
  apiKeySecretRef:
    name: sk
  # It has three times the cards of the rented one.
  weight: 75
  headers:
    - name: x-team
      value: platform
`;

let browser: Browser;
let upstream: ScriptedUpstream;
let standalone: StandaloneWithConsole;
let empty: StandaloneWithConsole;
let axe: string;

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const models = ['gemma', 'llama', 'mistral', 'qwen/qwen3-235b-a22b-instruct', 'whisper'];
  [browser, upstream] = await Promise.all([startBrowser(), startUpstream({ models, apiKey: 'sk-node' })]);
  upstream.respondWith('/chat/completions', undefined);
  const node = (name: string, spec: object, metadata: Readonly<Record<string, unknown>> = {}): string =>
    manifest('UpstreamNode', name, { baseURL: upstream.url, ...spec }, metadata);
  const keyed = { apiKeySecretRef: { name: 'sk' } };
  const argo = {
    annotations: {
      'argocd.argoproj.io/tracking-id': 'platform:modelgateway.dev/UpstreamNode:default/rented',
    },
  };
  [standalone, empty] = await Promise.all([
    startWithConsole({
      manifests: {
        'on-premises.yaml': onPremises(upstream.url),
        'rented.yaml': node('rented', { ...keyed, weight: 25, nativeFormats: ['Messages'] }, argo),
        'spare.yaml': node('spare', {
          ...keyed,
          priority: 10,
          models: [{ name: 'gemma', enabled: false, aliases: ['small', 'default'] }],
        }),
        'refused.yaml': node('refused', { apiKeySecretRef: { name: 'wrong' } }),
        'laptop.yaml': node('laptop', {
          baseURL: 'http://127.0.0.1:1/v1',
          enabled: false,
          manualModels: ['llama'],
          healthCheck: { intervalSeconds: 10, failureThreshold: 1 },
        }),
        'elsewhere.yaml': node('elsewhere', keyed, { namespace: 'research' }),
        'secrets.yaml': ['default', 'research']
          .flatMap((namespace) =>
            [
              ['sk', 'sk-node'],
              ['wrong', 'sk-bad'],
            ].map(([name, apiKey]) =>
              JSON.stringify({
                apiVersion: 'v1',
                kind: 'Secret',
                metadata: { name, namespace },
                stringData: { apiKey },
              }),
            ),
          )
          .join('\n---\n'),
        'keys.yaml': [
          manifest('APIKey', 'laptop', {
            hash: caller.hash,
            hint: 'mgk_...x7Qa',
            displayName: "Ada's laptop",
          }),
          manifest('APIKey', 'nightly', {
            secretName: 'nightly',
            models: ['llama', 'gemma', 'gone'],
            expirationTime: '2031-01-01T00:00:00Z',
          }),
          manifest('APIKey', 'old', {
            hash: keyWithHash().hash,
            expirationTime: '2025-01-01T00:00:00Z',
            enabled: false,
          }),
          manifest('MasterKey', 'automation', { secretName: 'automation' }),
        ].join('---\n'),
      },
    }),
    startWithConsole(),
  ]);
});

afterAll(async () => {
  await Promise.all([standalone?.[Symbol.asyncDispose](), empty?.[Symbol.asyncDispose]()]);
  await Promise.all([browser?.close(), upstream?.stop()]);
});

/** What axe finds against WCAG 2.2 AA, one line for each element. */
async function findings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const tags = JSON.stringify(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']);
  return (await page.evaluate(`axe.run(document, { runOnly: { type: 'tag', values: ${tags} } }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, any }) => [id, html.slice(0, 160), any[0]?.message].join(' | '))))`)) as string[];
}

/** Nothing may stick out at the side: the page itself never scrolls sideways. */
async function sticksOut(page: Page): Promise<readonly string[]> {
  return (await page.evaluate(`document.documentElement.scrollWidth <= innerWidth ? [] : [
    'wide: ' + document.documentElement.scrollWidth,
    ...[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.table-frame, pre, .url'))
      .map((one) => one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 40)),
  ].slice(0, 8)`)) as string[];
}

async function look(person: Person, name: string, look: string): Promise<readonly string[]> {
  const { page } = person;
  await page.screenshot({
    path: `${folder}${name}-${look}.jpg`,
    type: 'jpeg',
    quality: 70,
    animations: 'disabled',
  });
  const found = [...(await findings(page)), ...(await sticksOut(page))];
  return found.map((text) => `${name} (${look}): ${text}`);
}

test.for(Object.keys(looks))(
  '%s: every page is readable for everybody, and is photographed',
  async (theme) => {
    const options = looks[theme] ?? {};
    const found: string[] = [];
    await using person = await openConsole(browser, await standalone.newAddress(), options);
    const { page } = person;
    await page.getByRole('row', { name: /on-premises.*ready/ }).waitFor();
    await page.getByRole('row', { name: /laptop.*offline/ }).waitFor({ timeout: 60_000 });
    for (const { name, path, act } of scenes) {
      await person.visit(path);
      await page.locator('h1').waitFor();
      await eventually('all is read', async () => (await page.locator('[aria-busy]').count()) === 0);
      await act?.(page);
      found.push(...(await look(person, name, theme)));
    }
    // The header leaves a phone's screen to the page: two lines, of which one are the links.
    const header = await page.locator('header.top').boundingBox();
    if (theme === 'narrow') expect(header?.height).toBeLessThan(85);
    await person.visit('/nodes');
    const broken = page.getByRole('alert').getByText('Manifests are not in force: 2 problems.');
    await standalone.folders.write('broken.yaml', manifest('UpstreamNode', 'new', { wieght: 1 }));
    await broken.waitFor();
    found.push(...(await look(person, 'broken-manifests', theme)));
    await standalone.folders.remove('broken.yaml');
    await broken.waitFor({ state: 'detached' });
    await using nobody = await openConsole(browser, await empty.newAddress(), options);
    await nobody.visit('/nodes');
    found.push(...(await look(nobody, 'no-nodes', theme)));
    await nobody.visit('/keys');
    found.push(...(await look(nobody, 'no-keys', theme)));
    await nobody.context.clearCookies();
    await nobody.page.goto(new URL('/nodes', nobody.page.url()).href);
    found.push(...(await look(nobody, 'signed-out', theme)));
    expect(found).toEqual([]);
    expect(person.complaints.filter((text) => !/ (404|409|422) /.test(text))).toEqual([]);
  },
);
