import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lines, runCli, runShell } from '../../../support/cli.ts';
import { runHere } from '../../../support/cli-here.ts';
import { keyWithHash, manifest } from '../../../support/standalone.ts';

let root: string;
const node = (spec: object = {}) =>
  manifest('UpstreamNode', 'n', { baseURL: 'https://n.example/v1', ...spec });
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'model-gateway-check-'));
  for (const [folder, text] of Object.entries({
    good: node(),
    warned: manifest('APIKey', 'k', { secretName: 's', expirationTime: '2020-01-01T00:00:00Z' }),
    bad: node({ priority: 101 }),
  })) {
    await mkdir(join(root, folder));
    await writeFile(join(root, folder, 'a.yaml'), text);
  }
  await writeFile(join(root, 'bad', 'latin1.yaml'), Buffer.from('a: \xe4\n', 'latin1'));
  await writeFile(join(root, 'bad', 'text.txt'), 'not: [yaml');
});
afterAll(() => rm(root, { recursive: true, force: true }));

test.each([
  ['good', [], 0, 0],
  ['good', ['--strict'], 0, 0],
  ['warned', [], 0, 1],
  ['warned', ['--strict'], 1, 1],
  ['bad', [], 1, 2],
  ['nowhere', [], 7, undefined],
  ['good/a.yaml', [], 0, 0],
])('exit code: check %s %j', async (folder, flags, code, findings) => {
  const result = await runHere(['check', join(root, folder), ...flags, '-o', 'json']);
  expect(result.code, result.stderr).toBe(code);
  if (findings === undefined) expect(result.stdout).toBe('');
  else expect((JSON.parse(result.stdout) as { findings: unknown[] }).findings).toHaveLength(findings);
});

test('the table for people, the summary apart from it, files as code scanning wants them', async () => {
  const { code, stdout, stderr } = await runCli(['check', 'bad'], { cwd: root });
  expect(code).toBe(1);
  expect(lines(stdout)).toEqual([
    expect.stringMatching(/^PLACE +LEVEL +RULE +MESSAGE$/),
    expect.stringMatching(
      /^bad\/a\.yaml:9:5 +error +schema +spec\.priority: 101 must be at most 100; lower it$/,
    ),
    expect.stringMatching(/^bad\/latin1\.yaml:1:1 +error +unreadable-file +it is not UTF-8/),
  ]);
  expect(stderr).toBe('Checked 1 object in 1 file: 2 errors, 0 warnings, 0 notes.\n');
  const piped = await runShell('$MODEL_GATEWAY check - --sarif < bad/a.yaml; echo "$?"', { cwd: root });
  expect(piped.stdout).toContain('%3Cstdin%3E');
  expect(lines(piped.stdout).at(-1)).toBe('1');
});

test('a key is found by its file and never shown, whatever the output', async () => {
  const { text } = keyWithHash();
  for (const format of ['table', 'json', 'yaml', 'sarif']) {
    const result = await runHere(['check', '-', '-o', format], { input: node({ displayName: text }) });
    expect([format, result.code]).toEqual([format, 1]);
    expect(result.stdout).toContain('key-text');
    expect(result.stdout.includes(text)).toBe(false);
  }
});

test('the examples are as check wants them, but for the Secrets that show where a credential goes', async () => {
  const examples = new URL('../../../../examples/', import.meta.url);
  for (const file of (await readdir(examples)).filter((name) => name.endsWith('.yaml'))) {
    const input = await readFile(new URL(file, examples), 'utf8');
    const { stdout } = await runHere(['check', '-', '-o', 'json'], { input });
    const { findings } = JSON.parse(stdout) as { findings: { rule: string; level: string }[] };
    const others = findings.filter(({ rule, level }) => level !== 'note' && rule !== 'secret-in-clear');
    expect([file, others]).toEqual([file, []]);
  }
  // And together, those for Git included.
  const all = await runHere(['check', fileURLToPath(examples)]);
  expect(all.code, all.stdout).toBe(0);
});

test('links of a mounted ConfigMap are read once', async () => {
  const mounted = join(root, 'mounted');
  await mkdir(join(mounted, '..2026'), { recursive: true });
  await writeFile(join(mounted, '..2026', 'a.yaml'), node());
  await symlink('..2026', join(mounted, '..data'));
  await symlink(join('..data', 'a.yaml'), join(mounted, 'a.yaml'));
  expect((await runHere(['check', mounted])).stderr).toContain('Checked 1 object in 1 file: 0 errors');
});
