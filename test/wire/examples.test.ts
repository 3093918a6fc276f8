import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keptSecret } from '../support/kept-secret.ts';
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
  const { data } = standalone.folders;
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
    const issued = generated.map((id) => {
      const [namespace, name = ''] = id.split('/');
      return keptSecret(data, name, namespace);
    });
    return issued.every((secret) => secret !== undefined);
  });
  expect(problems(standalone)).toEqual([]);
  const keyOf = (name: string): string => keptSecret(data, name)?.['apiKey'] ?? '';
  await eventually('the key is known', async () => {
    const answer = await standalone.caller(keyOf('first-key')).send('GET', '/models');
    return answer.status === 200;
  });
  const own = standalone.caller(keyOf('first-key'));
  const models = await own.models();
  // Manual lists and aliases serve before any node has answered.
  expect(models).toEqual(expect.arrayContaining(['chat', 'qwen3', 'gpt-5-deployment', 'llama3.2:3b']));
  const admin = standalone.caller(keyOf('keys-admin'));
  const listed = JSON.parse((await admin.send('GET', '/keys')).text) as { data: { id: string }[] };
  expect(listed.data.map(({ id }) => id).sort()).toEqual(['application', 'brought-along', 'caller', 'first']);
});
