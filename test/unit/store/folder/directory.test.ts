import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { ApiKey } from '../../../../src/resources/api-key.ts';
import type { DirectoryStore } from '../../../../src/store/folder/directory.ts';
import { hashOf, makeKey, makeSecret } from '../make.ts';
import { changeState, Folders, holdsRow, keyYaml, nodeYaml, until } from '../open-folder.ts';

const signal = new AbortController().signal;
let folders: Folders;
afterEach(async () => folders.remove());

function use(files: Record<string, string>): Folders {
  folders = new Folders(files);
  return folders;
}

const problems = (log: Record<string, unknown>[]) => log.filter(({ level }) => level === 'error');

describe('reading', () => {
  test('documents of many files, folders and kinds', async () => {
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  apiKey: |\n    sk-1\n';
    const list = `{"apiVersion": "v1", "kind": "List", "items": [${JSON.stringify(makeKey({ hash: hashOf(2) }, { name: 'in-list' }))}]}`;
    use({
      'a.yaml': `# nothing here\n---\n${nodeYaml('a', 'apiKeySecretRef: {name: s}')}---\n${keyYaml('k', hashOf(1))}---\n`,
      'deep/er/b.yml': `${nodeYaml('b', 'weight: 3', 'team')}---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\n---\n${secret}`,
      'c.json': list,
      '.hidden.yaml': nodeYaml('hidden'),
      'notes.txt': 'no manifest',
    });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    expect(store.synced).toBe(true);
    expect(
      [...store.list('UpstreamNode')].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort(),
    ).toEqual(['default/a', 'team/b']);
    expect(store.node('default', 'a')?.credentials).toMatchObject({
      state: 'Resolved',
      connection: { credential: 'sk-1' },
    });
    expect(store.key(hashOf(1))?.resource.metadata).toMatchObject({
      name: 'k',
      namespace: 'default',
      generation: 1,
    });
    expect(store.key(hashOf(2))?.resource.metadata.name).toBe('in-list');
    expect(problems(log)).toEqual([]);
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'info', file: 'deep/er/b.yml', kinds: ['Deployment'] }),
    );
  });

  test('each problem is told once, with its place, and the other documents apply', async () => {
    use({
      'a.yaml': `${nodeYaml('good')}---\n# a comment\n${nodeYaml('bad', 'priority: 101')}---\n${nodeYaml('typo', 'wieght: 1')}`,
    });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    expect(store.get('UpstreamNode', 'default', 'good')).toBeDefined();
    expect(store.get('UpstreamNode', 'default', 'bad')).toBeUndefined();
    expect(problems(log)).toMatchObject([
      {
        file: 'a.yaml',
        document: 2,
        line: 20,
        field: 'spec.priority',
        found: '101',
        reason: 'must be at most 100',
        remedy: expect.anything(),
      },
      {
        file: 'a.yaml',
        document: 3,
        line: 30,
        field: 'spec.wieght',
        remedy: expect.stringContaining('weight'),
      },
    ]);
    folders.write(
      'a.yaml',
      `${nodeYaml('good', 'weight: 2')}---\n# a comment\n${nodeYaml('bad', 'priority: 101')}---\n${nodeYaml('typo', 'wieght: 1')}`,
    );
    await until(() => store.get('UpstreamNode', 'default', 'good')?.spec.weight === 2, 'the change applies');
    expect(problems(log)).toHaveLength(2);
  });

  test.each([
    ['an open bracket', 'a: [', 2],
    ['a tab', 'a: 1\n\tb: 2', 2],
    ['a field twice', 'a: 1\na: 2', 2],
    ['brackets without end', '['.repeat(1_000_000), 1],
  ])('a file that is not YAML (%s) keeps its last good version whole', async (_, broken, line) => {
    use({ 'a.yaml': nodeYaml('a'), 'b.yaml': nodeYaml('b') });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    folders.write('a.yaml', `${broken}\n---\n${nodeYaml('new')}`);
    await until(() => problems(log).length > 0, 'the problem is told');
    expect(problems(log)).toMatchObject([
      {
        file: 'a.yaml',
        line,
        reason: expect.any(String),
        remedy: expect.stringContaining('last good version'),
      },
    ]);
    expect(store.get('UpstreamNode', 'default', 'a')).toBeDefined();
    expect(store.get('UpstreamNode', 'default', 'new')).toBeUndefined();
    folders.write('a.yaml', nodeYaml('new'));
    await until(() => store.get('UpstreamNode', 'default', 'a') === undefined, 'the mended file applies');
    await until(() => store.get('UpstreamNode', 'default', 'new') !== undefined, 'the other name is there');
  });

  test('a document that is not valid keeps the last good version of its own object, even one that lost its name', async () => {
    use({ 'a.yaml': `${nodeYaml('a')}---\n${nodeYaml('b')}---\n${keyYaml('k', hashOf(1))}` });
    const { store } = await folders.open();
    folders.write(
      'a.yaml',
      `${nodeYaml('a', 'weight: 0')}---\n${nodeYaml('b', 'weight: 7')}---\n${keyYaml('k', hashOf(1)).replace('  name: k', '  nam: k')}`,
    );
    await until(() => store.get('UpstreamNode', 'default', 'b')?.spec.weight === 7, 'the valid one applies');
    expect(store.get('UpstreamNode', 'default', 'a')?.spec.weight).toBe(50);
    expect(store.key(hashOf(1))).toBeDefined();
  });

  test('a file with directives or end marks is read as a whole', async () => {
    use({ 'a.yaml': `%YAML 1.2\n---\n${nodeYaml('a')}...\n---\n${nodeYaml('bad', 'priority: 101')}` });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    expect(store.get('UpstreamNode', 'default', 'a')).toBeDefined();
    expect(problems(log)).toMatchObject([{ document: 2, line: 22, field: 'spec.priority' }]);
  });

  test('of a name declared twice the first by path and document is in force', async () => {
    use({
      'b.yaml': nodeYaml('n', 'weight: 2'),
      'c.yaml': `${nodeYaml('n', 'weight: 3')}---\n${nodeYaml('n', 'weight: 4')}`,
    });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    const weight = () => store.get('UpstreamNode', 'default', 'n')?.spec.weight;
    expect(weight()).toBe(2);
    expect(problems(log)).toMatchObject([
      { file: 'c.yaml', document: 1, reason: expect.stringContaining('b.yaml, document 1') },
      { file: 'c.yaml', document: 2 },
    ]);
    folders.write('a.yaml', nodeYaml('n', 'weight: 1'));
    await until(() => weight() === 1, 'an earlier path takes over');
    unlinkSync(join(folders.manifests, 'a.yaml'));
    unlinkSync(join(folders.manifests, 'b.yaml'));
    await until(() => weight() === 3, 'the next one takes over');
  });

  test('what must not change keeps its last good version', async () => {
    use({ 'a.yaml': keyYaml('k', hashOf(1)) });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    folders.write('a.yaml', keyYaml('k', hashOf(2)));
    await until(() => problems(log).length > 0, 'the problem is told');
    expect(problems(log)).toMatchObject([{ field: 'spec.hash', file: 'a.yaml', document: 1 }]);
    expect([store.key(hashOf(1)) !== undefined, store.key(hashOf(2))]).toEqual([true, undefined]);
  });

  test('what only an API server writes is not taken from a manifest', async () => {
    const stale = `${keyYaml('k', hashOf(1)).replace('  name: k', '  name: k\n  uid: mine\n  generation: 9\n  resourceVersion: "3"\n  deletionTimestamp: "2020-01-01T00:00:00Z"')}status:\n  hashes: [{hash: ${hashOf(2)}}]\n`;
    use({ 'a.yaml': stale });
    const { store } = await folders.open();
    const { metadata } = store.key(hashOf(1))?.resource ?? {};
    expect(metadata).toMatchObject({ generation: 1, uid: expect.not.stringMatching('mine') });
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(store.key(hashOf(2))).toBeUndefined();
  });
});

describe('changes', () => {
  test.each([
    ['written over', (path: string, text: string) => writeFileSync(path, text)],
    [
      'replaced by renaming',
      (path: string, text: string) => {
        writeFileSync(`${path}.tmp`, text);
        renameSync(`${path}.tmp`, path);
      },
    ],
    [
      'removed and made anew',
      (path: string, text: string) => {
        unlinkSync(path);
        writeFileSync(path, text);
      },
    ],
  ])('a key in a file that is %s is revoked within a second, each time', async (_, change) => {
    use({ 'sub/a.yaml': keyYaml('k', hashOf(1)) });
    const { store } = await folders.open();
    const path = join(folders.manifests, 'sub/a.yaml');
    for (const enabled of [false, true, false]) {
      change(path, keyYaml('k', hashOf(1), `enabled: ${enabled}`));
      expect(
        await until(() => store.key(hashOf(1))?.resource.spec.enabled === enabled, 'applied'),
      ).toBeLessThan(1_000);
    }
    rmSync(join(folders.manifests, 'sub'), { recursive: true });
    expect(await until(() => store.key(hashOf(1)) === undefined, 'gone')).toBeLessThan(1_000);
  });

  test('a mounted ConfigMap: links into a hidden folder that is replaced', async () => {
    use({});
    const root = folders.manifests;
    const publish = (version: string, text: string) => {
      mkdirSync(join(root, version));
      writeFileSync(join(root, version, 'a.yaml'), text);
      symlinkSync(version, join(root, '..data_tmp'));
      renameSync(join(root, '..data_tmp'), join(root, '..data'));
    };
    publish('..v1', keyYaml('k', hashOf(1)));
    symlinkSync('..data/a.yaml', join(root, 'a.yaml'));
    const { store } = await folders.open();
    expect(store.key(hashOf(1))).toBeDefined();
    publish('..v2', keyYaml('other', hashOf(2)));
    await until(
      () => store.key(hashOf(1)) === undefined && store.key(hashOf(2)) !== undefined,
      'the new version applies',
    );
  });

  test('a folder of manifests that goes away keeps what it held', async () => {
    use({ 'a.yaml': keyYaml('k', hashOf(1)) });
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    renameSync(folders.manifests, `${folders.manifests}-away`);
    await until(() => problems(log).length > 0, 'told');
    expect(store.key(hashOf(1))).toBeDefined();
    renameSync(`${folders.manifests}-away`, folders.manifests);
  });

  test('generation, uid and creation time: kept while the object lives, also over a restart', async () => {
    use({ 'a.yaml': keyYaml('k', hashOf(1)) });
    const first = await folders.open();
    const meta = (store = first.store) => store.get('APIKey', 'default', 'k')?.metadata;
    const before = meta();
    folders.write('a.yaml', `# a comment alone changes nothing\n${keyYaml('k', hashOf(1))}`);
    folders.write('b.yaml', nodeYaml('n'));
    await until(() => first.store.node('default', 'n') !== undefined, 'read');
    expect(meta()).toEqual(before);
    folders.write('a.yaml', keyYaml('k', hashOf(1), 'enabled: false'));
    await until(() => meta()?.generation === 2, 'a change of the spec');
    await first.close();
    folders.write('a.yaml', keyYaml('k', hashOf(1), 'enabled: true'));
    const { store } = await folders.open();
    expect(meta(store)).toEqual({ ...before, generation: 3 });
    unlinkSync(join(folders.manifests, 'a.yaml'));
    await until(() => meta(store) === undefined, 'gone');
    folders.write('a.yaml', keyYaml('k', hashOf(1)));
    await until(() => meta(store) !== undefined, 'back');
    expect(meta(store)?.uid).not.toBe(before?.uid);
  });
});

describe('what survives a restart', () => {
  const newKey = (name: string, hash = hashOf(1)): ApiKey => makeKey({ hash }, { name });

  test('status', async () => {
    use({ 'a.yaml': nodeYaml('n') });
    const first = await folders.open();
    const node = first.store.get('UpstreamNode', 'default', 'n');
    if (node === undefined) throw new Error('no node');
    const status = {
      phase: 'ready' as const,
      models: [{ name: 'found', enabled: true, source: 'Discovered' as const }],
    };
    await first.store.writeStatus('UpstreamNode', node, status, signal);
    expect(first.store.served('found')).toBeDefined();
    await first.close();
    const { store } = await folders.open();
    expect(store.get('UpstreamNode', 'default', 'n')?.status).toEqual(status);
    expect(store.served('found')).toBeDefined();
    await expect(
      store.writeStatus(
        'UpstreamNode',
        { ...node, metadata: { ...node.metadata, uid: 'other' } },
        {},
        signal,
      ),
    ).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(
      store.writeStatus('UpstreamNode', { ...node, metadata: { ...node.metadata, name: 'x' } }, {}, signal),
    ).rejects.toMatchObject({ reason: 'NotFound' });
  });

  test('keys made through the keys API, until they are deleted', async () => {
    use({ 'a.yaml': keyYaml('declared', hashOf(9)) });
    const first = await folders.open();
    const created = await first.store.createKey(newKey('k'), signal);
    expect(first.store.key(hashOf(1))?.resource).toBe(created);
    expect(created.metadata).toMatchObject({
      uid: expect.any(String),
      creationTimestamp: expect.any(String),
      generation: 1,
    });
    await expect(first.store.createKey(newKey('k'), signal)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
    await expect(first.store.createKey(newKey('declared'), signal)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
    await expect(
      first.store.createKey({ ...newKey('k'), metadata: { ...newKey('k').metadata, name: '../x' } }, signal),
    ).rejects.toMatchObject({ reason: 'Invalid' });
    await first.close();
    const { store } = await folders.open();
    expect(store.key(hashOf(1))?.resource.metadata).toEqual(created.metadata);
    const declared = store.get('APIKey', 'default', 'declared');
    if (declared === undefined) throw new Error('not declared');
    await expect(store.deleteKey(declared, signal)).rejects.toMatchObject({ reason: 'Declared' });
    await store.deleteKey(created, signal);
    expect(store.key(hashOf(1))).toBeUndefined();
    expect(holdsRow(folders.data, 'made_key', 'default/k')).toBe(false);
    await expect(store.deleteKey(created, signal)).rejects.toMatchObject({ reason: 'NotFound' });
  });

  test('of two that create one name one succeeds', async () => {
    use({});
    const { store } = await folders.open();
    const results = await Promise.allSettled(
      [1, 2, 3].map((i) => store.createKey(newKey('k', hashOf(i)), signal)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('Secrets: created once, replaced by version, removed with their owner', async () => {
    use({
      'a.yaml': `${keyYaml('k', hashOf(1))}---\napiVersion: v1\nkind: Secret\nmetadata: {name: declared}\nstringData: {a: b}\n`,
    });
    const first = await folders.open();
    const owner = first.store.get('APIKey', 'default', 'k')?.metadata.uid ?? '';
    const ownerReferences = [
      { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'APIKey', name: 'k', uid: owner },
    ];
    const secret = await first.store.createSecret(
      makeSecret('s', { apiKey: 'one' }, { ownerReferences }),
      signal,
    );
    await expect(first.store.createSecret(makeSecret('s', {}), signal)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
    await expect(first.store.createSecret(makeSecret('declared', {}), signal)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
    const second = await first.store.applySecret({ ...secret, data: { apiKey: 'dHdv' } }, signal);
    await expect(first.store.applySecret(secret, signal)).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(first.store.applySecret(makeSecret('none', {}), signal)).rejects.toMatchObject({
      reason: 'NotFound',
    });
    await expect(first.store.applySecret(makeSecret('declared', {}), signal)).rejects.toMatchObject({
      reason: 'Declared',
    });
    await first.close();
    const { store } = await folders.open();
    expect(await store.readSecret('default', 's', signal)).toEqual(second);
    expect((await store.readSecret('default', 'declared', signal))?.data).toEqual({ a: 'Yg==' });
    unlinkSync(join(folders.manifests, 'a.yaml'));
    await until(() => !holdsRow(folders.data, 'secret', 'default/s'), 'the Secret follows its owner');
    expect(await store.readSecret('default', 's', signal)).toBeUndefined();
  });

  test('a Secret whose owner may be in a file that cannot be read is kept', async () => {
    use({ 'a.yaml': keyYaml('k', hashOf(1)) });
    const first = await folders.open();
    const uid = first.store.get('APIKey', 'default', 'k')?.metadata.uid ?? '';
    const ownerReferences = [{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'APIKey', name: 'k', uid }];
    await first.store.createSecret(makeSecret('s', { apiKey: 'one' }, { ownerReferences }), signal);
    await first.close();
    folders.write('a.yaml', 'a: [');
    const broken = await folders.open();
    expect(await broken.store.readSecret('default', 's', signal)).toBeDefined();
    await broken.close();
    folders.write('a.yaml', keyYaml('k', hashOf(1)));
    const { store } = await folders.open();
    expect(store.get('APIKey', 'default', 'k')?.metadata.uid).toBe(uid);
    expect(await store.readSecret('default', 's', signal)).toBeDefined();
  });

  test('files are for the owner alone', async () => {
    use({ 'a.yaml': keyYaml('k', hashOf(1)) });
    const { store, close } = await folders.open();
    await store.createKey(newKey('made', hashOf(2)), signal);
    await store.createSecret(makeSecret('s', { apiKey: 'one' }), signal);
    await store.publishSealingRecipient('age1x', signal);
    const files = readdirSync(folders.data).sort();
    expect(files).toEqual([
      'sealing-recipient.txt',
      'state.sqlite',
      'state.sqlite-commits',
      'state.sqlite-shm',
      'state.sqlite-wal',
    ]);
    for (const file of files)
      expect([file, statSync(join(folders.data, file)).mode & 0o777]).toEqual([file, 0o600]);
    await close();
    for (const entry of readdirSync(folders.data, { recursive: true, withFileTypes: true })) {
      const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
      expect([entry.name, mode.toString(8)]).toEqual([entry.name, entry.isDirectory() ? '700' : '600']);
    }
    expect(statSync(folders.data).mode & 0o777).toBe(0o700);
  });

  test('what was made here stays in force over a manifest that declares it later, which is told', async () => {
    use({});
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    const created = await store.createKey(newKey('k'), signal);
    await store.createSecret(makeSecret('s', { apiKey: 'one' }), signal);
    folders.write(
      'a.yaml',
      `${keyYaml('k', hashOf(2))}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n`,
    );
    await until(() => problems(log).length === 2, 'told');
    expect(store.key(hashOf(1))?.resource).toBe(created);
    expect((await store.readSecret('default', 's', signal))?.data).toHaveProperty('apiKey');
    await store.deleteKey(created, signal);
    expect(store.key(hashOf(2))?.resource.metadata.name).toBe('k');
  });

  test('many Secrets made at once are all there', async () => {
    use({});
    const { store } = await folders.open();
    const names = Array.from({ length: 60 }, (_, i) => `s-${i}`);
    await Promise.all(names.map((name) => store.createSecret(makeSecret(name, { apiKey: name }), signal)));
    await wait(150);
    for (const name of names) expect(await store.readSecret('default', name, signal), name).toBeDefined();
  });

  test('damaged rows are logged and shown as problems, and only their own content is lost', async () => {
    use({ 'a.yaml': `${keyYaml('k', hashOf(1))}---\n${keyYaml('l', hashOf(3))}` });
    const first = await folders.open();
    await first.store.createKey(newKey('made', hashOf(2)), signal);
    const uidOf = (store: DirectoryStore, name: string) => store.get('APIKey', 'default', name)?.metadata.uid;
    const uid = uidOf(first.store, 'k') ?? '';
    const ownerReferences = [{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'APIKey', name: 'k', uid }];
    await first.store.createSecret(makeSecret('owned', { apiKey: 'one' }, { ownerReferences }), signal);
    await first.store.createSecret(makeSecret('damaged', { apiKey: 'two' }), signal);
    await first.close();
    changeState(
      folders.data,
      `UPDATE record SET value = '{"version":1,' WHERE id = 'APIKey/default/k'; UPDATE made_key SET value = 'x';
       UPDATE secret SET value = substr(value, 9) WHERE id = 'default/damaged'`,
    );
    const log: Record<string, unknown>[] = [];
    const { store, close } = await folders.open(log);
    expect([store.key(hashOf(1)), store.key(hashOf(3))]).not.toContain(undefined);
    const found = ['Secret/default/damaged', 'APIKey/default/made', 'APIKey/default/k'];
    expect(problems(log).map((line) => line['object'])).toEqual(found);
    expect(store.manifestProblems().map(({ object, file }) => [object, file])).toEqual(
      found.map((object) => [object, '../data/state.sqlite']),
    );
    // The key in a Secret must not be issued again: neither because its owner has another uid, nor because it is unreadable.
    expect(uidOf(store, 'k')).toBe(uid);
    expect(await store.readSecret('default', 'owned', signal)).toBeDefined();
    await expect(store.readSecret('default', 'damaged', signal)).rejects.toThrow(/damaged in the state file/);
    await expect(store.createSecret(makeSecret('damaged', {}), signal)).rejects.toThrow(/exists already/);
    await close();
    changeState(folders.data, `DELETE FROM secret WHERE id = 'default/damaged'`);
    const next = await folders.open();
    expect(await next.store.readSecret('default', 'damaged', signal)).toBeUndefined();
  });
});
