import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { DirectoryStore } from '../../../src/store/folder/directory.ts';
import { hashOf } from './make.ts';
import { Folders, keyYaml, nodeYaml, readState, until } from './open-folder.ts';

// What a start makes of a folder that changed, or of a data folder that was damaged, while nobody looked.
let folders: Folders;
afterEach(async () => folders.remove());

const told = (log: Record<string, unknown>[], msg: string) => log.filter((line) => line['msg'] === msg);
const keptMessage = 'The last good version of an object stays in force';
const keptFileMessage = 'A manifest file cannot be read; what it held before this start stays in force';

/** Runs the store once on these files, and leaves what it wrote. */
async function ran(files: Record<string, string>, work: (store: DirectoryStore) => Promise<void> | void) {
  folders = new Folders(files);
  const { store, close } = await folders.open();
  await work(store);
  await close();
}

const metadataOf = (store: DirectoryStore, name = 'k') => store.get('APIKey', 'default', name)?.metadata;

describe('a manifest that turned bad while nobody looked', () => {
  test('the last good version of its object stays in force, as it was', async () => {
    let before: unknown;
    await ran({ 'a.yaml': keyYaml('k', hashOf(1), 'models: [m]') }, (store) => {
      before = store.get('APIKey', 'default', 'k');
    });
    folders.write('a.yaml', keyYaml('k', hashOf(1), 'models: []'));
    for (const round of [1, 2]) {
      const log: Record<string, unknown>[] = [];
      const { store, close } = await folders.open(log);
      expect(store.key(hashOf(1))?.resource, `round ${round}`).toEqual(before);
      expect(told(log, keptMessage)).toMatchObject([
        { level: 'warn', file: 'a.yaml', object: 'APIKey/default/k', generation: 1 },
      ]);
      if (round === 1) {
        await close();
        continue;
      }
      folders.write('a.yaml', keyYaml('k', hashOf(1), 'models: [n]'));
      await until(() => metadataOf(store)?.generation === 2, 'the mended one applies');
      expect(store.key(hashOf(1))?.models).toEqual(new Set(['n']));
      folders.write('a.yaml', '# nothing');
      await until(() => store.key(hashOf(1)) === undefined, 'revoked');
    }
  });

  test('and so does an object whose file is no YAML any more, although a later file declares it too', async () => {
    await ran(
      {
        'c.yaml': `${keyYaml('k', hashOf(1), 'enabled: false')}---\n${keyYaml('l', hashOf(2))}`,
        'z.yaml': keyYaml('k', hashOf(1)),
      },
      () => {},
    );
    folders.write('c.yaml', '{{{');
    const { store, close } = await folders.open();
    const enabled = () => store.get('APIKey', 'default', 'k')?.spec.enabled;
    expect([enabled(), store.key(hashOf(2)) !== undefined]).toEqual([false, true]);
    expect(store.manifestProblems().map(({ file }) => file)).toEqual(['c.yaml', 'z.yaml']);
    folders.write('z.yaml', keyYaml('k', hashOf(1), 'models: [m]'));
    await until(() => store.manifestProblems().length === 2, 'read again');
    expect(enabled()).toBe(false);
    folders.write('z.yaml', '# nothing');
    await until(() => store.manifestProblems().length === 1, 'the later declaration is deleted');
    expect(enabled()).toBe(false);
    folders.write('c.yaml', keyYaml('k', hashOf(1)));
    await until(() => enabled() === true, 'the file can be read again');
    await close();
  });

  test('also one of a node, but not where that would write a header in plain text into a file', async () => {
    await ran(
      {
        'a.yaml': nodeYaml('a', 'weight: 7'),
        'b.yaml': nodeYaml('b', 'headers: [{name: x-plain, value: credential}]'),
      },
      () => {},
    );
    expect([...readState(folders.data).all('record').values()].join()).not.toContain('credential"');
    folders.write('a.yaml', nodeYaml('a', 'weight: 101'));
    folders.write('b.yaml', nodeYaml('b', 'weight: 101'));
    const { store } = await folders.open();
    expect(store.get('UpstreamNode', 'default', 'a')?.spec.weight).toBe(7);
    expect(store.get('UpstreamNode', 'default', 'b')).toBeUndefined();
  });

  test('what must not change may not change over a restart either', async () => {
    await ran({ 'a.yaml': keyYaml('k', hashOf(1)) }, () => {});
    folders.write('a.yaml', keyYaml('k', hashOf(2)));
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    expect([store.key(hashOf(1)) !== undefined, store.key(hashOf(2))]).toEqual([true, undefined]);
    expect(log).toContainEqual(
      expect.objectContaining({ level: 'error', file: 'a.yaml', field: 'spec.hash' }),
    );
    rmSync(join(folders.manifests, 'a.yaml'));
    await until(() => store.key(hashOf(1)) === undefined, 'gone');
    folders.write('a.yaml', keyYaml('k', hashOf(2)));
    await until(() => store.key(hashOf(2)) !== undefined, 'another key of the name');
  });

  test.each<[string, () => void]>([
    ['is not YAML', () => folders.write('a.yaml', 'a: [')],
    ['is not UTF-8', () => writeFileSync(join(folders.manifests, 'a.yaml'), Buffer.from([0xff, 0xfe, 0x41]))],
  ])('a file that %s: all that it held stays in force, until it can be read', async (_, damage) => {
    const good = `${keyYaml('one', hashOf(1))}---\n${keyYaml('two', hashOf(2))}`;
    await ran({ 'first.yaml': good, 'b.yaml': keyYaml('three', hashOf(3)) }, async (store) => {
      // It is the file that held them last that counts.
      folders.write('a.yaml', good);
      rmSync(join(folders.manifests, 'first.yaml'));
      folders.write('z.yaml', nodeYaml('n'));
      await until(() => store.node('default', 'n') !== undefined, 'the move was seen');
    });
    damage();
    rmSync(join(folders.manifests, 'b.yaml'));
    const log: Record<string, unknown>[] = [];
    const { store } = await folders.open(log);
    const there = () => [1, 2, 3].map((number) => store.key(hashOf(number)) !== undefined);
    expect(there()).toEqual([true, true, false]);
    expect(told(log, keptFileMessage)).toMatchObject([{ file: 'a.yaml', objects: 2 }]);
    folders.write('a.yaml', keyYaml('one', hashOf(1)));
    await until(() => store.key(hashOf(2)) === undefined, 'what it does not hold any more goes');
    expect(there()).toEqual([true, false, false]);
  });

  test('a data folder whose sealing key is lost is refused, and left as it is', async () => {
    const sealing = { kind: 'Secret', metadata: { name: 'model-gateway-sealing' } };
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      ...sealing,
      stringData: { identities: 'AGE-SECRET-KEY-1' },
    });
    await ran({ 'sealing.yaml': manifest }, () => {});
    const { store, close } = await folders.open();
    await store.publishSealingRecipient('age1published', AbortSignal.timeout(5_000));
    await close();
    rmSync(join(folders.manifests, 'sealing.yaml'));
    await expect(folders.open()).rejects.toThrow(/part of its state was lost; restore the folder/);
    expect(readFileSync(join(folders.data, 'sealing-recipient.txt'), 'utf8')).toBe('age1published\n');
    folders.write('sealing.yaml', manifest);
    await folders.open();
  });

  // Nothing keeps root from listing a folder.
  test.skipIf(process.getuid?.() === 0)(
    'a folder that cannot be listed: all stays in force (left out for root, who can list any)',
    async () => {
      await ran({ 'sub/a.yaml': keyYaml('k', hashOf(1)) }, () => {});
      const sub = join(folders.manifests, 'sub');
      chmodSync(sub, 0o000);
      try {
        const { store } = await folders.open();
        expect(store.key(hashOf(1))).toBeDefined();
      } finally {
        chmodSync(sub, 0o755);
      }
    },
  );
});
