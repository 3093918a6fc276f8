import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../../support/cli-here.ts';
import { runKeyExamples } from '../../../support/cli-key-examples.ts';
import { manifest } from '../../../support/standalone.ts';

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
