import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Standalone, startStandalone } from '../support/standalone.ts';

const folder = fileURLToPath(new URL('../../examples', import.meta.url));
const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();

// Names do not resolve: the examples name real providers.
async function load(names: readonly string[]): Promise<Standalone> {
  const texts = names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const);
  return startStandalone({ manifests: Object.fromEntries(await Promise.all(texts)), names: false });
}

/** Problems of manifests name a file; those of nodes that cannot be reached, or keys sealed to nobody, do not. */
const problems = (standalone: Standalone) =>
  standalone.complaints().filter(({ file, level }) => file !== undefined || level === 'error');

test('the folder holds every example that the README and the issue promise', () => {
  expect(files).toEqual([
    'anthropic.yaml',
    'application.yaml',
    'azure.yaml',
    'key.yaml',
    'master-key.yaml',
    'minimal.yaml',
    'ollama-and-vllm.yaml',
    'openai.yaml',
    'priority-and-weight.yaml',
    'sealed-credential.yaml',
    'team-namespaces.yaml',
  ]);
});

test.concurrent.each(files)('%s loads alone without a problem', async (file) => {
  await using standalone = await load([file]);
  expect(problems(standalone)).toEqual([]);
  const foreign = standalone.log().find(({ msg }) => msg.startsWith('Left out objects'));
  expect(foreign?.['kinds']).toEqual(
    { 'application.yaml': ['Deployment'], 'team-namespaces.yaml': ['Namespace'] }[file],
  );
});

test('all of them load together, and do what they say', async () => {
  await using standalone = await load(files);
  const secrets = join(standalone.folders.data, 'secrets');
  const generated = [
    'default/application-model-key',
    'default/caller-key',
    'default/first-key',
    'default/keys-admin',
    'default/model-gateway-sealing',
    'product/model-gateway',
    'research/model-gateway',
  ];
  await eventually('every key is issued', async () => {
    const found = await readdir(secrets, { recursive: true, withFileTypes: true }).catch(() => []);
    const paths = found
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map((entry) => join(entry.parentPath, entry.name).slice(secrets.length + 1));
    return JSON.stringify(paths.sort()) === JSON.stringify(generated);
  });
  expect(problems(standalone)).toEqual([]);
  const keyOf = async (path: string): Promise<string> => {
    const { data } = JSON.parse(await readFile(join(secrets, path), 'utf8'));
    return Buffer.from(data.apiKey, 'base64').toString();
  };
  await eventually('the key is known', async () => {
    const answer = await standalone.caller(await keyOf('default/first-key')).send('GET', '/models');
    return answer.status === 200;
  });
  const own = standalone.caller(await keyOf('default/first-key'));
  const models = await own.models();
  // Manual lists and aliases serve before any node has answered.
  expect(models).toEqual(expect.arrayContaining(['chat', 'qwen3', 'gpt-5-deployment', 'llama3.2:3b']));
  const admin = standalone.caller(await keyOf('default/keys-admin'));
  const listed = JSON.parse((await admin.send('GET', '/keys')).text) as { data: { id: string }[] };
  expect(listed.data.map(({ id }) => id).sort()).toEqual(['application', 'brought-along', 'caller', 'first']);
});
