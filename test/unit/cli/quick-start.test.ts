import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startDemoUpstream } from '../../../src/cli/demo-upstream.ts';
import { prepareQuickStart, type QuickStart, welcome } from '../../../src/cli/quick-start.ts';
import {
  generateSealingIdentity,
  openSealedKey,
  sealingRecipient,
} from '../../../src/resources/sealed-key.ts';

const cleanup: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

async function prepare(given: { manifests?: string; upstream?: string; openAIKey?: string } = {}) {
  const folder = given.manifests ?? (await newFolder());
  const options = { manifests: folder, upstream: given.upstream, openAIKey: given.openAIKey };
  const quickStart: QuickStart = await prepareQuickStart(options);
  cleanup.push(() => quickStart.close());
  return { folder, quickStart };
}

async function newFolder(): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), 'quick-start-'));
  cleanup.push(() => rm(base, { recursive: true }));
  return join(base, 'manifests');
}

test('the first run makes a key and the demo, which answers and says that it only echoes', async () => {
  const { folder, quickStart } = await prepare();
  expect(await readdir(folder)).toEqual(['api-key.yaml', 'demo.yaml', 'provider.yaml.example']);
  expect(quickStart.node).toEqual({ name: 'demo', kind: 'demo' });
  const { baseURL } = parse(await readFile(join(folder, 'demo.yaml'), 'utf8')).spec;
  const models = await (await fetch(`${baseURL}/models`)).json();
  expect(models).toMatchObject({ data: [{ id: 'demo-echo' }] });
  const body = JSON.stringify({ model: 'demo-echo', messages: [{ role: 'user', content: 'Hi there' }] });
  const reply = await (await fetch(`${baseURL}/chat/completions`, { method: 'POST', body })).json();
  const content = expect.stringMatching(/There is no model in it.*Hi there/);
  expect(reply).toMatchObject({ choices: [{ message: { content } }] });
});

test('the second run changes nothing, and keeps what people made of it', async () => {
  const { folder, quickStart } = await prepare();
  await quickStart.close();
  await writeFile(join(folder, 'api-key.yaml'), '# mine\n');
  const before = await readFile(join(folder, 'demo.yaml'), 'utf8');
  const again = await prepare({ manifests: folder });
  expect(await readFile(join(folder, 'demo.yaml'), 'utf8')).toBe(before);
  expect(await readFile(join(folder, 'api-key.yaml'), 'utf8')).toBe('# mine\n');
  expect(again.quickStart.notices).toEqual([]);
});

test('the demo moves where its port is taken, and its manifest with it', async () => {
  const { folder, quickStart } = await prepare();
  await quickStart.close();
  const path = join(folder, 'demo.yaml');
  const port = Number(new URL(parse(await readFile(path, 'utf8')).spec.baseURL).port);
  const squatter = await startDemoUpstream(port, '/another/folder');
  cleanup.push(() => squatter.close());
  const again = await prepare({ manifests: folder });
  const text = await readFile(path, 'utf8');
  expect(Number(new URL(parse(text).spec.baseURL).port)).not.toBe(port);
  expect(text).toContain('# The demo upstream');
  expect(again.quickStart.notices).toEqual([expect.stringContaining(`Port ${port} is taken`)]);
});

test('a demo that another process runs for the same manifests stays, and so does its manifest', async () => {
  const { folder } = await prepare();
  const path = join(folder, 'demo.yaml');
  const before = await readFile(path, 'utf8');
  const again = await prepare({ manifests: folder });
  expect(await readFile(path, 'utf8')).toBe(before);
  expect(again.quickStart.notices).toEqual([expect.stringContaining(`Another process serves ${folder}`)]);
});

test.each([
  ['a mistake in YAML', (text: string) => `${text}spec: [\n`, undefined],
  ['another address', (text: string) => text.replace('127.0.0.1', 'models.example.com'), /points elsewhere/],
  ['nothing', () => '# empty\n', /names no base URL that can be read/],
])('%s in demo.yaml: what is said of the demo is true', async (_, change, notice) => {
  const { folder, quickStart } = await prepare();
  await quickStart.close();
  const path = join(folder, 'demo.yaml');
  const text = await readFile(path, 'utf8');
  await writeFile(path, change(text));
  const { notices } = (await prepare({ manifests: folder })).quickStart;
  const models = await fetch(`${parse(text).spec.baseURL}/models`).catch(() => undefined);
  expect([notices.length, models?.status]).toEqual(notice === undefined ? [0, 200] : [1, undefined]);
  if (notice !== undefined) expect(notices[0]).toMatch(notice);
});

test('a deleted demo does not come back', async () => {
  const { folder, quickStart } = await prepare();
  await quickStart.close();
  await rm(join(folder, 'demo.yaml'));
  expect((await prepare({ manifests: folder })).quickStart.node).toBeUndefined();
});

test('--upstream declares a server once', async () => {
  const { folder, quickStart } = await prepare({ upstream: 'http://127.0.0.1:11434/v1' });
  expect(quickStart.node).toEqual({ name: 'upstream', kind: 'server' });
  const path = join(folder, 'upstream.yaml');
  expect(parse(await readFile(path, 'utf8')).spec).toEqual({ baseURL: 'http://127.0.0.1:11434/v1' });
  const again = await prepare({ manifests: folder, upstream: 'http://127.0.0.1:8000/v1' });
  expect(again.quickStart.notices).toEqual([
    expect.stringContaining('already declares http://127.0.0.1:11434/v1'),
  ]);
});

test('OPENAI_API_KEY is sealed into the manifest, never written in clear', async () => {
  const { folder, quickStart } = await prepare({ openAIKey: 'sk-planted-credential' });
  const identity = await generateSealingIdentity();
  await quickStart.declareOpenAI?.(await sealingRecipient(identity));
  for (const file of await readdir(folder)) {
    expect(await readFile(join(folder, file), 'utf8')).not.toContain('sk-planted-credential');
  }
  const { spec } = parse(await readFile(join(folder, 'openai.yaml'), 'utf8'));
  const sealed = { text: spec.encryptedAPIKey, identities: [identity], namespace: 'default', name: 'openai' };
  expect(await openSealedKey({ ...sealed, baseURL: spec.baseURL })).toEqual({
    apiKey: 'sk-planted-credential',
  });
  expect(
    (await prepare({ manifests: folder, openAIKey: 'sk-other' })).quickStart.declareOpenAI,
  ).toBeUndefined();
});

test('OPENAI_API_KEY on a later run is not used, and that is said', async () => {
  const { folder, quickStart } = await prepare();
  await quickStart.close();
  const again = await prepare({ manifests: folder, openAIKey: 'sk-x' });
  expect(again.quickStart.notices).toEqual([expect.stringContaining('OPENAI_API_KEY is not used')]);
});

test('the welcome is short, aligned and ends in one command', () => {
  const text = welcome({
    version: '1.2.3',
    baseURL: 'http://127.0.0.1:8080/v1',
    key: { text: 'mgk_x' },
    manifests: '/g/m',
    data: '/g/data',
    console: 'http://127.0.0.1:9091/?token=once',
    node: { name: 'demo', kind: 'demo' },
    inForce: 'Now',
    model: 'demo-echo',
    notices: ['a note'],
  });
  expect(text.split('\n').length).toBeLessThan(20);
  expect(text.match(/^curl .*$/m)?.[0]).toContain("-H 'Authorization: Bearer mgk_x'");
  expect(text).toContain('Note: a note');
  expect(text).toContain('  Commands   npm start --silent -- nodes --manifests /g/m\n');
  expect(text).toContain('?token=once (good for one browser; the next: cat /g/data/console-address)\n');
});
