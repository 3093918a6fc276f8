import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../../support/cli-here.ts';
import { runKeyExamples } from '../../../support/cli-key-examples.ts';
import { eventually } from '../../../support/eventually.ts';
import { manifest, startStandalone } from '../../../support/standalone.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'model-gateway-examples-'));
  await mkdir(join(root, 'manifests'));
  await writeFile(
    join(root, 'manifests', 'node.yaml'),
    manifest('UpstreamNode', 'node', { baseURL: 'https://n.example/v1', manualModels: ['gpt-5'] }),
  );
});
afterAll(() => rm(root, { recursive: true, force: true }));

const run = (...args: string[]) =>
  runHere(args, { env: { MODEL_GATEWAY_MANIFESTS: join(root, 'manifests') } });

test('every example of --help runs', () => runKeyExamples(run, join(root, 'manifests')));

test('a span or a time of an expiry, and what is neither', async () => {
  const expiry = async (text: string) => {
    const { code, stdout, stderr } = await run('key', 'create', 'x', '--dry-run', '--expires', text);
    return code === 0
      ? Date.parse(/expirationTime: "?([^"\s]+)/.exec(stdout)?.[1] ?? '') - Date.now()
      : stderr;
  };
  expect(await expiry('90d')).toBeCloseTo(90 * 86_400_000, -5);
  expect(await expiry('2w')).toBeCloseTo(14 * 86_400_000, -5);
  expect(await expiry('2099-01-31T00:00:00+01:00')).toBeCloseTo(
    Date.parse('2099-01-30T23:00:00Z') - Date.now(),
    -5,
  );
  for (const text of ['90', 'soon', '0d', '2020-01-01T00:00:00Z', '2099-01-31', '999999d']) {
    expect(await expiry(text)).toMatch(/expires/);
  }
});

test('lists and one key, for people and programs', async () => {
  const models = Array.from({ length: 9 }, (_, index) => `model-${index}`).join();
  await run('key', 'create', 'listed', '--models', models, '--display-name', 'For lists', '--strict');
  const { stdout } = await run('keys');
  expect(stdout).toMatch(/^NAME +READY +ENABLED +HINT +MODELS +EXPIRES +AGE$/m);
  expect(stdout).toMatch(
    /^listed +Unknown +true +mgk_\.\.\.\w{4} +model-0,model-1,model-2,model-3,model-4,\+4 +never +-$/m,
  );
  expect((await run('keys', '-o', 'wide')).stdout).toMatch(/DISPLAY NAME +SECRET +MESSAGE\n/);
  expect((await run('key', 'show', 'listed')).stdout).toMatch(
    /Display name: +For lists\n(.|\n)*Conversion: +Strict/u,
  );
  expect((await run('key', 'show', 'listed', '-o', 'name')).stdout).toBe('apikey.modelgateway.dev/listed\n');
  expect(JSON.parse((await run('key', 'show', 'listed', '-o', 'json')).stdout)).toMatchObject({
    kind: 'APIKey',
  });
});

test('edit changes what it is told to, and nothing else; a text of its own stays', async () => {
  await run('key', 'create', 'mine', '--models', 'a,b', '--display-name', 'Mine', '--expires', '90d');
  const spec = async () => JSON.parse((await run('key', 'show', 'mine', '-o', 'json')).stdout).spec;
  const { hash } = await spec();
  const first = await run(
    'key',
    'edit',
    'mine',
    '--models',
    'c',
    '--enabled',
    'false',
    '--conversion',
    'Strict',
  );
  expect(first).toEqual({ code: 0, stdout: 'apikey.modelgateway.dev/mine edited\n', stderr: '' });
  expect(await spec()).toMatchObject({
    hash,
    models: ['c'],
    enabled: false,
    conversion: 'Strict',
    displayName: 'Mine',
  });
  const dry = await run('key', 'edit', 'mine', '--expires', 'never', '--dry-run');
  expect(dry.stdout).toMatch(/^-.*expirationTime/m);
  expect(await spec()).toHaveProperty('expirationTime');
  await run(
    'key',
    'edit',
    'mine',
    '--expires',
    'never',
    '--models',
    'all',
    '--display-name',
    '',
    '--enabled',
    'true',
  );
  const after = await spec();
  expect([after.expirationTime, after.models, after.displayName, after.enabled]).toEqual([
    undefined,
    undefined,
    undefined,
    true,
  ]);
  expect((await run('key', 'edit', 'mine')).code).toBe(2);
  expect((await run('key', 'edit', 'nobody', '--enabled', 'true')).code).toBe(3);
  expect((await run('key', 'edit', 'mine', '--models', '*')).code).toBe(6);
});

test('edit in an editor: a field that somebody else changed meanwhile is a conflict', async () => {
  await run('masterkey', 'create', 'shared', '--display-name', 'Before');
  const file = join(root, 'manifests', 'masterkey-shared.yaml');
  const editor = join(root, 'editor.sh');
  await writeFile(editor, `sed -i s/Before/Theirs/ ${file}; sed -i s/Before/Ours/ "$1"\n`);
  const env = { MODEL_GATEWAY_MANIFESTS: join(root, 'manifests'), EDITOR: `sh ${editor}`, TMPDIR: root };
  expect((await runHere(['masterkey', 'edit', 'shared'], { env })).code).toBe(5);
});

test('reveal shows a key that the running process keeps in a Secret; of a hash nobody can', async () => {
  await using standalone = await startStandalone();
  const { manifests, data } = standalone.folders;
  const at = (...args: string[]) => runHere([...args, '--manifests', manifests, '--data', data]);
  const created = await at('key', 'create', 'app', '--secret-name', 'app-key');
  expect(created.stderr).toContain('to see it: model-gateway key reveal app');
  const revealed = async () => await at('key', 'reveal', 'app');
  await eventually('the key is issued', async () => (await revealed()).code === 0, 5_000, 20);
  const key = (await revealed()).stdout.trim();
  const models = await fetch(`${standalone.baseURL}/models`, { headers: { authorization: `Bearer ${key}` } });
  expect(models.status).toBe(200);
  await at('key', 'create', 'hashed');
  expect((await at('key', 'reveal', 'hashed')).code).toBe(6);
});

test('an allowlist with a name that nothing serves is warned of, with a name that is near', async () => {
  const args = ['key', 'create', 'typo', '--models', 'gtp-5,nope'];
  const { code, stderr } = await run(...args, '--data', join(root, 'data-of-nobody'));
  expect(code).toBe(0);
  expect(stderr).toContain('Warning: no node serves "gtp-5" now; did you mean "gpt-5"?\n');
  expect(stderr).toContain('Warning: no node serves "nope" now\n');
});
