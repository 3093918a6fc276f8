import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ourSpelling } from '../../../src/cli/spellings.ts';
import { bareEnvironment } from '../../support/bare-environment.ts';
import { runCli } from '../../support/cli.ts';
import { runHere } from '../../support/cli-here.ts';
import { runToEnd } from '../../support/run-to-end.ts';
import { nodeYaml } from '../store/open-folder.ts';

const spellings: readonly [typed: string, ours: string][] = [
  ['-n ns nodes', 'nodes -n ns'],
  ['-nns nodes -o wide', 'nodes -o wide -nns'],
  ['--context dev --namespace=ns node show a', 'node show a --context dev --namespace=ns'],
  ['-A nodes', 'nodes -A'],
  ['--manifests m --data d keys', 'keys --manifests m --data d'],
  ['-n ns node add a -- x', 'node add a -n ns -- x'],
  ['node list', 'nodes'],
  ['key ls -o name', 'keys -o name'],
  ['model list', 'models'],
  ['masterkey list', 'masterkeys'],
  ['get nodes', 'nodes'],
  ['get upstreamnodes -A', 'nodes -A'],
  ['-n ns get node a', 'node show a -n ns'],
  ['describe apikey a', 'key show a'],
  ['nodes a', 'node show a'],
  [
    'node add a --base-url http://a/v1 --dry-run=client -o yaml',
    'node add a --base-url http://a/v1 --dry-run',
  ],
  ['key create a --dry-run -oyaml', 'key create a --dry-run'],
  ['node delete a --dry-run=server', 'node delete a --dry-run'],
  ['node disable a --dry-run=none', 'node disable a'],
  ['-v', '--version'],
  // These are ours already, or for somebody else.
  ['', ''],
  ['nodes -o yaml', 'nodes -o yaml'],
  ['-n ns', '-n ns'],
  ['--manifests m --listen :1', '--manifests m --listen :1'],
  ['get pods', 'get pods'],
  ['help nodes', 'help nodes'],
  ['__complete node list', '__complete node list'],
  ['seal --name list', 'seal --name list'],
];
const words = (text: string) => text.split(' ').filter((word) => word !== '');
test.each(spellings)('%s', (typed, ours) => {
  expect(ourSpelling(words(typed))).toEqual(words(ours));
  expect(ourSpelling(words(ours))).toEqual(words(ours));
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spellings-'));
  await writeFile(join(folder, 'a.yaml'), nodeYaml('a', 'manualModels: [m]', 'ns'));
  await writeFile(join(folder, 'bad.yaml'), nodeYaml('b', 'wieght: 1', 'ns'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('flags before the command reach it, also as a process of its own', async () => {
  const { code, stdout } = await runCli(['-n', 'ns', '--manifests', folder, 'node', 'list', '-o', 'name']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'upstreamnode.modelgateway.dev/a\n' });
});

test('and by the plugin of kubectl', async () => {
  const plugin = fileURLToPath(new URL('../../../src/bin/kubectl-modelgateway.ts', import.meta.url));
  const args = ['-n', 'ns', 'nodes', '--manifests', folder, '-o', 'name'];
  const { code, stdout } = await runToEnd(process.execPath, [plugin, ...args], {
    env: bareEnvironment(),
    timeoutMs: 60_000,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'upstreamnode.modelgateway.dev/a\n' });
});

test('check takes files, as pre-commit passes them', async () => {
  const good = join(folder, 'a.yaml');
  const bad = join(folder, 'bad.yaml');
  expect(await runHere(['check', good])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('1 object in 1 file'),
  });
  const both = await runHere(['check', good, bad]);
  expect([both.code, both.stdout]).toEqual([1, expect.stringContaining('bad.yaml:')]);
  expect((await runHere(['check', join(folder, 'nothing.yaml')])).stderr).toContain('does not exist');
});
