import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { folderDeclarations } from '../../../../src/cli/edit/folder-declarations.ts';
import { keyOf, type ManifestProblem } from '../../../../src/store/folder/manifest-problems.ts';
import { runHere } from '../../../support/cli-here.ts';
import { hashOf } from '../make.ts';
import { Folders, keyYaml, nodeYaml, until } from '../open-folder.ts';

let folders: Folders;
afterEach(async () => folders.remove());

const applied = (log: readonly Record<string, unknown>[]) =>
  log
    .filter(({ msg }) => msg === 'Applied a manifest')
    .map(({ object, action, file }) => [object, action, file]);
const sorted = (problems: readonly ManifestProblem[]) =>
  [...problems].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
const says = (log: readonly Record<string, unknown>[], msg: string) =>
  log.some((line) => line['msg'] === msg);

describe('what is not in force', () => {
  test('files, documents and objects, with place, reason, remedy and since when', async () => {
    folders = new Folders({
      'a.yaml': `${nodeYaml('good')}---\n${nodeYaml('typo', 'wieght: 1')}`,
      'b.yaml': nodeYaml('good'),
      'c.yaml': 'kind: [\n',
      'd.yaml': 'apiVersion: modelgateway.dev/v1alpha1\nkind: UpstreamNode\n',
    });
    const { store } = await folders.open();
    const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const file = { scope: 'file', file: 'c.yaml', line: expect.any(Number), since };
    const document = {
      scope: 'document',
      file: 'a.yaml',
      document: 2,
      line: 19,
      object: 'UpstreamNode/default/typo',
      field: 'spec.wieght',
      reason: 'is not a field',
      remedy: 'did you mean weight?',
      since,
    };
    const repeat = {
      scope: 'object',
      file: 'b.yaml',
      document: 1,
      object: 'UpstreamNode/default/good',
      since,
    };
    const found = store.manifestProblems();
    for (const problem of [file, document, repeat])
      expect(found).toContainEqual(expect.objectContaining(problem));
    expect(found.some((problem) => problem.file === 'd.yaml')).toBe(true);
    expect(store.manifestProblemCounts()).toEqual({ file: 1, document: 2, object: 1 });
    // The console and commands read the same from the folders.
    const place = folderDeclarations({ manifests: folders.manifests, data: folders.data });
    expect(sorted(await place.manifestProblems())).toEqual(sorted(found));
  });

  test('a document that moves down keeps its problem, at its new line and since the same time', async () => {
    folders = new Folders({ 'a.yaml': `${nodeYaml('a')}---\n${nodeYaml('typo', 'wieght: 1')}` });
    const first = await folders.open();
    const [before] = first.store.manifestProblems();
    await first.close();
    const { store } = await folders.open();
    expect(store.manifestProblems()).toEqual([before]);
    folders.write('a.yaml', `# one more\n${nodeYaml('a')}---\n${nodeYaml('typo', 'wieght: 1')}`);
    await until(() => store.manifestProblems()[0]?.line === Number(before?.line) + 1, 'the line moved');
    expect(store.manifestProblems()[0]?.since).toBe(before?.since);
  });

  test('a file that was deleted while nothing ran is no problem any more, also where it was the only one', async () => {
    folders = new Folders({ 'broken.yaml': 'kind: [\n' });
    const first = await folders.open();
    expect(first.store.manifestProblems()).toMatchObject([{ scope: 'file', file: 'broken.yaml' }]);
    await first.close();
    unlinkSync(`${folders.manifests}/broken.yaml`);
    const { store } = await folders.open();
    expect(store.manifestProblems()).toEqual([]);
  });

  test('a change that is refused is a problem until it is taken back', async () => {
    folders = new Folders({ 'k.yaml': keyYaml('k', hashOf(1)) });
    const { store } = await folders.open();
    folders.write('k.yaml', keyYaml('k', hashOf(2)));
    await until(() => store.manifestProblems().length > 0, 'the refusal is listed');
    expect(store.manifestProblems()).toMatchObject([{ scope: 'object', field: 'spec.hash', file: 'k.yaml' }]);
    folders.write('k.yaml', keyYaml('k', hashOf(1)));
    await until(() => store.manifestProblems().length === 0, 'it is listed no more');
  });

  test('`nodes` warns of it, with and without a data folder', async () => {
    folders = new Folders({ 'a.yaml': `${nodeYaml('good')}---\n${nodeYaml('typo', 'wieght: 1')}` });
    const nodes = () => runHere(['nodes', '--manifests', folders.manifests]);
    const warning =
      'a.yaml:19 (document 2): UpstreamNode/default/typo spec.wieght is not a field; did you mean';
    expect((await nodes()).stderr).toContain(`Warning: not in force: ${warning}`);
    await folders.open();
    const { code, stdout, stderr } = await nodes();
    expect(stderr).toMatch(/^Warning: not in force \(since \d+s\): a\.yaml:19/);
    expect({ code, good: stdout.includes('good') }).toEqual({ code: 0, good: true });
  });

  test('commands show a node of a file that is not YAML any more, or name the file', async () => {
    const text = `${nodeYaml('a')}---\n${keyYaml('k', hashOf(1))}`;
    folders = new Folders({ 'a.yaml': text });
    const { store, close } = await folders.open();
    const run = (...args: string[]) => runHere([...args, '--manifests', folders.manifests]);
    folders.write('a.yaml', `${text}x\n`);
    await until(() => store.manifestProblems().length === 1, 'the problem is listed');
    // What is in force is on disk then.
    await close();
    const why = /the last good version is in force, because .*a\.yaml:\d+: is not YAML/;
    expect((await run('nodes', '-o', 'wide')).stdout).toMatch(why);
    const keys = await run('keys', '-o', 'wide');
    expect([keys.stdout, keys.stderr]).toEqual([
      expect.stringMatching(why),
      expect.stringContaining('Warning: not in force'),
    ]);
    expect((await run('node', 'show', 'a')).stdout).toMatch(why);
    expect((await run('key', 'show', 'k')).stdout).toMatch(why);
    expect((await run('node', 'edit', 'a', '--priority', '70')).stderr).toMatch(why);

    renameSync(folders.data, join(folders.root, 'elsewhere'));
    for (const list of ['nodes', 'keys']) {
      const { stderr } = await run(list);
      expect(stderr).toContain('; 1 manifest file is not wholly in force, see the warning.\nWarning: ');
    }
    for (const group of ['node', 'key'])
      expect((await run(group, 'show', 'a')).stderr).toMatch(/There is no .*a\.yaml:\d+: is not YAML/);
  });
});

test('commands show the first of two declarations, although its file is not YAML any more', async () => {
  folders = new Folders({
    'a.yaml': nodeYaml('n', 'enabled: false'),
    'b.yaml': nodeYaml('n', 'displayName: later'),
  });
  const { close } = await folders.open();
  await close();
  folders.write('a.yaml', '{{{');
  const run = (...args: string[]) => runHere([...args, '--manifests', folders.manifests]);
  const { stdout } = await run('nodes', '-o', 'wide');
  expect(stdout).not.toContain('later');
  expect(stdout.match(/is not YAML/g)).toHaveLength(1);
  expect((await run('node', 'show', 'n')).stdout).not.toContain('later');
  expect((await run('node', 'enable', 'n')).stderr).toMatch(/cannot be changed: the last good version/);
});

test('commands warn of a state file that cannot be read', async () => {
  folders = new Folders({ 'a.yaml': keyYaml('k', hashOf(1)).replace(/hash: .*/, 'secretName: s') });
  mkdirSync(folders.data);
  writeFileSync(join(folders.data, 'state.sqlite'), 'no database'.repeat(100));
  const run = (...args: string[]) => runHere([...args, '--manifests', folders.manifests]);
  for (const list of ['keys', 'nodes'])
    expect((await run(list)).stderr).toMatch(
      /Warning: The state file .*state\.sqlite cannot be read \(file is not a database\), so statuses and generated keys are missing/,
    );
  expect((await run('nodes')).stderr).toContain('the data folder cannot be read, see the warning');
  const { code, stderr } = await run('key', 'reveal', 'k');
  expect(stderr).toMatch(/state\.sqlite cannot be read/);
  expect([code, stderr.includes('no key yet')]).not.toEqual([0, true]);
});

describe('an edit logs what it did', () => {
  test('created, changed, deleted; nothing at the start or for a comment', async () => {
    folders = new Folders({ 'a.yaml': nodeYaml('a') });
    const log: Record<string, unknown>[] = [];
    await folders.open(log);
    expect(applied(log)).toEqual([]);
    folders.write('a.yaml', `# a comment\n${nodeYaml('a', 'weight: 3')}`);
    await until(() => applied(log).length === 1, 'the change is logged');
    folders.write('b.yaml', nodeYaml('b'));
    await until(() => applied(log).length === 2, 'the creation is logged');
    folders.write('a.yaml', `# another comment\n${nodeYaml('a', 'weight: 3')}`);
    unlinkSync(`${folders.manifests}/b.yaml`);
    await until(() => applied(log).length === 3, 'the deletion is logged');
    expect(applied(log)).toEqual([
      ['UpstreamNode/default/a', 'changed', 'a.yaml'],
      ['UpstreamNode/default/b', 'created', 'b.yaml'],
      ['UpstreamNode/default/b', 'deleted', 'b.yaml'],
    ]);
    expect(says(log, 'A manifest file was deleted')).toBe(true);
  });

  test('a file that is fixed, even to what it was', async () => {
    folders = new Folders({ 'a.yaml': nodeYaml('a') });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    folders.write('a.yaml', 'kind: [\n');
    await until(() => store.manifestProblems().length === 1, 'the problem is listed');
    folders.write('a.yaml', nodeYaml('a'));
    await until(() => says(log, 'A manifest file is valid again'), 'the fix is logged');
    expect(store.manifestProblems()).toEqual([]);
  });

  test('many at once are counted', async () => {
    folders = new Folders({});
    const log: Record<string, unknown>[] = [];
    await folders.open(log);
    folders.write('many.yaml', Array.from({ length: 50 }, (_, at) => nodeYaml(`n${at}`)).join('---\n'));
    await until(() => says(log, 'Applied more manifests than are listed'), 'the rest is counted');
    expect(applied(log)).toHaveLength(20);
    expect(log).toContainEqual(expect.objectContaining({ changes: 50, shown: 20 }));
  });
});
