import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runHere } from '../../../support/cli-here.ts';

const manifest = `# mine
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata: {name: local}
spec:
  baseURL: http://localhost:8000/v1
  manualModels: [coder, other]
`;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-edit-'));
  await mkdir(join(folder, 'manifests'));
  await writeFile(join(folder, 'manifests', 'node.yaml'), manifest);
});
afterEach(() => rm(folder, { recursive: true }));

function run(...args: string[]) {
  return runHere([...args, '--manifests', join(folder, 'manifests')]);
}

test('a card is set, shown, and removed again, a wish at a time', async () => {
  const wishes = [
    ...['--context-tokens', '60000', '--output-tokens', '8000', '--display-name', 'Coder'],
    ...['--input', 'text,image', '--tools', 'yes', '--input-price', '2.50', '--output-price', '10'],
  ];
  expect(await run('model', 'edit', 'local', 'coder', ...wishes)).toMatchObject({ code: 0 });
  const { stdout } = await run('model', 'show', 'coder');
  expect(stdout).toContain(`Display name:  Coder
Context:       60000 tokens
Output:        8000 tokens at most
Inputs:        Text, Image
Tools:         yes
Price:         2.50 in, 10 out, for a million tokens
`);
  const json: unknown = JSON.parse((await run('model', 'show', 'coder', '-o', 'json')).stdout);
  expect(json).toMatchObject({ card: { contextTokens: 60_000, price: { outputPerMillion: '10' } } });
  expect((await run('models', '-o', 'wide')).stdout).toMatch(/^coder .* 60000 +8000 /m);
  await run('model', 'edit', 'local', 'coder', '--display-name', '', '--tools', '');
  const after = await run('model', 'show', 'coder');
  expect(after.stdout).not.toMatch(/Display name|Tools/);
  expect(await readFile(join(folder, 'manifests', 'node.yaml'), 'utf8')).toContain('# mine');
});

test.each<[what: string, args: string[], code: number, message: string]>([
  ['an unknown model', ['codr', '--context-tokens', '1'], 3, 'did you mean "coder"?'],
  ['no flags', ['coder'], 2, 'nothing to change'],
  ['several models', ['*', '--context-tokens', '1'], 3, 'a card is for one'],
  [
    'an answer longer than the window',
    ['coder', '--context-tokens', '10', '--output-tokens', '11'],
    6,
    'must not exceed contextTokens',
  ],
  ['an empty window', ['coder', '--context-tokens', '0'], 6, 'contextTokens'],
  ['a price in words', ['coder', '--input-price', '2,50 €'], 6, 'must be a decimal number'],
  ['an unknown input', ['coder', '--input', 'smell'], 6, 'input'],
])('%s is refused', async (_, args, code, message) => {
  const ended = await run('model', 'edit', 'local', ...args);
  expect(ended.stderr).toContain(message);
  expect(ended.code).toBe(code);
  expect(await readFile(join(folder, 'manifests', 'node.yaml'), 'utf8')).toBe(manifest);
});
