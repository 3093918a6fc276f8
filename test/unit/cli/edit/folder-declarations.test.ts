import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { Ref } from '../../../../src/cli/edit/declarations.ts';
import type { Edit } from '../../../../src/cli/edit/edit.ts';
import { folderDeclarations } from '../../../../src/cli/edit/folder-declarations.ts';
import { rowOf } from '../../../../src/console/rows.ts';
import { hashKeyText } from '../../../../src/resources/key-text.ts';
import { declarationsContract, refusal } from '../../../support/declarations-contract.ts';
import { Folders } from '../../store/open-folder.ts';

const shared = mkdtempSync(join(tmpdir(), 'declarations-'));
afterAll(() => rmSync(shared, { recursive: true, force: true }));
const declarations = folderDeclarations({ manifests: shared });

describe('a folder', () => declarationsContract(() => ({ declarations, namespace: 'team-a' })));

const signal = AbortSignal.timeout(120_000);
let folders: Folders | undefined;
afterEach(async () => {
  await folders?.remove();
  folders = undefined;
});

/** A folder with these files, opened without its data folder. */
function folderOf(files: Record<string, string>) {
  folders = new Folders(files);
  const { manifests } = folders;
  return {
    manifests,
    place: folderDeclarations({ manifests }),
    text: (file: string) => readFileSync(join(manifests, file), 'utf8'),
    files: () => readdirSync(manifests).sort(),
  };
}

const head = 'apiVersion: modelgateway.dev/v1alpha1\n';
const node = (name: string, more = '') =>
  `${head}kind: UpstreamNode\nmetadata:\n  name: ${name}\nspec:\n  baseURL: http://models.example/v1 # where\n${more}`;
const key = (name: string) =>
  `${head}kind: APIKey\nmetadata: { name: ${name} }\nspec: { secretName: ${name}-key }\n`;
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { apiKey: sk-x }\n';
const ref = (name: string): Ref<'UpstreamNode'> => ({ kind: 'UpstreamNode', namespace: 'default', name });
const disable: readonly Edit[] = [{ path: ['spec', 'enabled'], value: false }];

describe('files', () => {
  test('an edit touches one document of several, beside what is for others', async () => {
    const before = `# head of the file\n\n${node('a')}--- # second\n${secret}---\nkind: Deployment\napiVersion: apps/v1\n---\n${node('b', '  priority: 3\n')}# the end\n`;
    const { place, text } = folderOf({ 'all.yaml': before });
    const { source } = await place.edit(ref('b'), disable, {}, signal);
    expect(source).toMatch(/all\.yaml, document 4$/);
    expect(text('all.yaml')).toBe(before.replace('  priority: 3\n', '  priority: 3\n  enabled: false\n'));
  });

  test.each<[string, string, Edit[], (before: string) => string]>([
    [
      'CRLF and a byte order mark',
      `\uFEFF${node('a')}`.replaceAll('\n', '\r\n'),
      [...disable],
      (text) => `${text}  enabled: false\r\n`,
    ],
    ['no line break at the end', node('a').trimEnd(), [...disable], (text) => `${text}\n  enabled: false`],
    [
      'JSON',
      JSON.stringify({
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'UpstreamNode',
        metadata: { name: 'a' },
        spec: { baseURL: 'http://x.example/v1' },
      }),
      [...disable],
      (text) => text.replace('/v1"}', '/v1","enabled":false}'),
    ],
    [
      'a List',
      `apiVersion: v1\nkind: List\nitems:\n# first\n- ${node('a').replaceAll('\n', '\n  ').trimEnd()}\n# second\n- ${key('k').replaceAll('\n', '\n  ').trimEnd()}\n`,
      [...disable],
      (text) => text.replace('# where\n', '# where\n    enabled: false\n'),
    ],
    [
      'a List of one',
      `apiVersion: v1\nkind: List\nitems:\n- ${node('a').replaceAll('\n', '\n  ').trimEnd()}\n`,
      [...disable],
      (text) => `${text}    enabled: false\n`,
    ],
    [
      'directives, which only a parser can cut',
      `%YAML 1.2\n---\n${key('k')}...\n---\n${node('a')}...\n`,
      [...disable],
      (text) => text.replace('# where\n', '# where\n  enabled: false\n'),
    ],
  ])('%s', async (_, before, edits, after) => {
    const { place, text } = folderOf({ 'a.yaml': before });
    const edited = await place.edit(ref('a'), edits, {}, signal);
    expect(edited.resource.spec.enabled).toBe(false);
    expect(text('a.yaml')).toBe(after(before));
    expect((await place.get(ref('a'), signal)).manifest).toBe(edited.manifest);
  });

  test('mode and links stay, and nothing is left behind', async () => {
    const { place, manifests, files } = folderOf({ 'real/a.yaml': node('a') });
    const real = join(manifests, 'real', 'a.yaml');
    chmodSync(real, 0o640);
    symlinkSync(join('real', 'a.yaml'), join(manifests, '0-link.yaml'));
    await place.edit(ref('a'), disable, {}, signal);
    expect(files()).toEqual(['0-link.yaml', 'real']);
    expect(readdirSync(join(manifests, 'real'))).toEqual(['a.yaml']);
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(readFileSync(real, 'utf8')).toContain('enabled: false');
  });

  test('new resources get files of their own, and never another one', async () => {
    const { place, files, text } = folderOf({ 'upstreamnode-a.yaml': '# somebody else wrote this\n' });
    const spec = { baseURL: 'http://models.example/v1' };
    const create = (name: string, namespace: string) =>
      place.create({ kind: 'UpstreamNode', metadata: { name, namespace }, spec }, {}, signal);
    await create('a', 'default');
    await create('a', 'team');
    expect((await create('b', 'default')).source).toMatch(/upstreamnode-b\.yaml$/);
    expect(files()).toEqual([
      'upstreamnode-a-2.yaml',
      'upstreamnode-a.yaml',
      'upstreamnode-b.yaml',
      'upstreamnode-team-a.yaml',
    ]);
    expect(text('upstreamnode-a-2.yaml')).toBe(node('a').replace(' # where', ''));
    expect(text('upstreamnode-team-a.yaml')).toContain('namespace: team');
    const twice = await Promise.allSettled([create('c', 'default'), create('c', 'default')]);
    expect(twice.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('a removal takes one document, then the file', async () => {
    const { place, text, files } = folderOf({
      'a.yaml': `# ours\n\n# about a\n${node('a')}---\n# about k\n${key('k')}`,
    });
    await place.remove(ref('a'), {}, signal);
    expect(text('a.yaml')).toBe(`# ours\n\n---\n# about k\n${key('k')}`);
    await place.remove({ kind: 'APIKey', namespace: 'default', name: 'k' }, {}, signal);
    expect(files()).toEqual([]);
  });

  test('an entry goes from its List, the last one with the document', async () => {
    const entry = (text: string) => `- ${text.replaceAll('\n', '\n  ').trimEnd()}\n`;
    const list = `apiVersion: v1\nkind: List\nitems:\n${entry(node('a'))}# the key\n${entry(key('k'))}`;
    const { place, text, files } = folderOf({ 'a.yaml': list });
    await place.remove(ref('a'), {}, signal);
    expect(text('a.yaml')).toBe(`apiVersion: v1\nkind: List\nitems:\n# the key\n${entry(key('k'))}`);
    await place.remove({ kind: 'APIKey', namespace: 'default', name: 'k' }, {}, signal);
    expect(files()).toEqual([]);
  });

  test('an edited manifest keeps the comments that were typed', async () => {
    const before = `${key('k')}---\r\n# about a\r\n${node('a').replaceAll('\n', '\r\n')}`;
    const { place, text } = folderOf({ 'a.yaml': before });
    const read = await place.get(ref('a'), signal);
    expect(read.manifest.startsWith('# about a\r\n')).toBe(true);
    const typed = read.manifest
      .replaceAll('\r\n', '\n')
      .replace('# about a', '# about the best')
      .replace('# where', '# where\n  priority: 60 # high');
    await place.rewrite(read, typed, {}, signal);
    expect(text('a.yaml')).toBe(
      before
        .replace('# about a', '# about the best')
        .replace('# where\r\n', '# where\r\n  priority: 60 # high\r\n'),
    );
    const again = await place.get(ref('a'), signal);
    const two = await refusal(place.rewrite(again, `${again.manifest}---\n${node('x')}`, {}, signal));
    expect(two.reason).toBe('Invalid');
    const bad = await refusal(place.rewrite(again, again.manifest.replace('60', '600'), {}, signal));
    expect(bad.causes).toEqual([
      { field: 'spec.priority', message: expect.stringContaining('must be at most 100') },
    ]);
  });

  test('what is wrong is said with its place', async () => {
    const { place, manifests } = folderOf({
      'bad.yaml': `${key('k')}---\n${node('a', '  priority: 500\n')}`,
      'broken.yaml': 'a: [\n',
      'anchors.yaml': `${head}kind: UpstreamNode\nmetadata: {name: n, labels: &l {a: b}, annotations: *l}\nspec: {baseURL: "http://x.example/v1"}\n`,
    });
    const invalid = await refusal(place.edit(ref('a'), disable, {}, signal));
    expect(invalid.message).toContain(
      `UpstreamNode default/a (${join(manifests, 'bad.yaml')}, document 2) is not valid: spec.priority: 500 must be at most 100`,
    );
    const anchors = await refusal(
      place.edit(ref('n'), [{ path: ['metadata', 'labels'], remove: true }], {}, signal),
    );
    expect([anchors.reason, anchors.message]).toEqual([
      'Invalid',
      expect.stringMatching(/anchors\.yaml was not changed: .*edit the file by hand/),
    ]);
    expect((await place.edit(ref('n'), disable, {}, signal)).resource.spec.enabled).toBe(false);
    expect((await place.list('APIKey', undefined, signal)).length).toBe(1);
    const nowhere = folderDeclarations({ manifests: join(manifests, 'no-such') });
    expect((await refusal(nowhere.list('APIKey', undefined, signal))).reason).toBe('Unavailable');
  });

  test.skipIf(process.getuid?.() === 0)('a folder that may not be written', async () => {
    const { place, manifests } = folderOf({ 'a.yaml': node('a') });
    chmodSync(manifests, 0o500);
    const { reason } = await refusal(place.edit(ref('a'), disable, {}, signal));
    chmodSync(manifests, 0o700);
    expect(reason).toBe('Forbidden');
  });

  test('twenty people editing one file at once all get their edit, and a crash in the middle is got over', async () => {
    const { place, manifests, text } = folderOf({ 'a.yaml': `${node('a')}---\n${node('b')}` });
    // Left by a process that was killed.
    writeFileSync(join(manifests, '.a.yaml.edit'), 'half');
    writeFileSync(join(manifests, '.a.yaml.lock'), '');
    const others = folderDeclarations({ manifests });
    const names = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const waits = names.map((name, index) =>
      (index % 2 === 0 ? place : others).edit(
        ref(index % 3 === 0 ? 'b' : 'a'),
        [{ path: ['spec', 'models', { name }, 'enabled'], value: false }],
        {},
        signal,
      ),
    );
    await Promise.all(waits);
    for (const name of names) expect(text('a.yaml')).toContain(`- name: ${name}\n`);
    expect(readdirSync(manifests)).toEqual(['a.yaml']);
  });
});

describe('the data folder', () => {
  test('status, uid and the keys made through /v1/keys, while a process runs on it', async () => {
    folders = new Folders({ 'a.yaml': node('a') });
    const { store } = await folders.open();
    const running = store.get('UpstreamNode', 'default', 'a');
    if (running === undefined) throw new Error('not read');
    await store.writeStatus('UpstreamNode', running, { phase: 'ready', modelCount: 3 }, signal);
    await store.createKey(
      {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'APIKey',
        metadata: {
          namespace: 'default',
          name: 'made',
          creationTimestamp: undefined,
          deletionTimestamp: undefined,
        },
        spec: { enabled: true, priority: 'Normal', conversion: 'Lossy', hash: hashKeyText('x'.repeat(40)) },
      },
      signal,
    );
    const place = folderDeclarations({ manifests: folders.manifests });
    await expect
      .poll(async () => (await place.get(ref('a'), signal)).resource.status?.phase, { timeout: 10_000 })
      .toBe('ready');
    const { metadata, status } = (await place.get(ref('a'), signal)).resource;
    expect(metadata).toMatchObject({ uid: running.metadata.uid, generation: 1 });
    expect(status?.modelCount).toBe(3);
    const made = { kind: 'APIKey', namespace: 'default', name: 'made' } as const;
    const found = await place.get(made, signal);
    expect([found.managedBy, found.source]).toEqual([
      'the keys API (/v1/keys)',
      expect.stringContaining('made'),
    ]);
    expect(
      (await place.list('APIKey', undefined, signal)).map(({ resource }) => resource.metadata.name),
    ).toEqual(['made']);
    for (const call of [() => place.remove(made, {}, signal), () => place.edit(made, disable, {}, signal)]) {
      const { reason, message } = await refusal(call());
      expect([reason, message]).toEqual(['Forbidden', expect.stringContaining('DELETE /v1/keys/made')]);
    }
    const taken = { kind: 'APIKey', metadata: made, spec: { secretName: 's' } } as const;
    expect(
      (
        await refusal(
          place.create({ ...taken, metadata: { namespace: 'default', name: 'made' } }, {}, signal),
        )
      ).reason,
    ).toBe('AlreadyExists');
    expect((await refusal(place.sealingRecipient(signal))).message).toContain('--data');
    await store.publishSealingRecipient('age1test', signal);
    expect(await place.sealingRecipient(signal)).toBe('age1test');

    // What is edited is in force in the process, and its generation says that the status is of before.
    await place.edit(ref('a'), disable, {}, signal);
    await expect
      .poll(() => store.get('UpstreamNode', 'default', 'a')?.spec.enabled, { timeout: 10_000 })
      .toBe(false);
    expect((await place.get(ref('a'), signal)).resource.metadata.generation).toBe(2);
  });

  test.each([
    ['its file is not YAML any more', `${node('a')}---\n${key('k')}x\n`, /a\.yaml:\d+: is not YAML/],
    ['its document is not valid', node('a', '  priority: 500\n'), /a\.yaml:7 .*spec\.priority/],
  ])('a node in force is shown and not changed while %s', async (_, text, why) => {
    folders = new Folders({ 'a.yaml': `${node('a')}---\n${key('k')}` });
    const { store } = await folders.open();
    const running = store.get('UpstreamNode', 'default', 'a');
    if (running === undefined) throw new Error('not read');
    await store.writeStatus('UpstreamNode', running, { phase: 'ready', modelCount: 3 }, signal);
    const place = folderDeclarations({ manifests: folders.manifests });
    await expect
      .poll(async () => (await place.get(ref('a'), signal)).resource.status?.phase, { timeout: 10_000 })
      .toBe('ready');

    folders.write('a.yaml', text);
    const [listed, ...others] = await place.list('UpstreamNode', undefined, signal);
    expect(others).toEqual([]);
    expect(await place.get(ref('a'), signal)).toEqual(listed);
    expect(listed?.resource).toMatchObject({
      metadata: { uid: running.metadata.uid, generation: 1 },
      spec: { priority: 50 },
      status: { phase: 'ready', modelCount: 3 },
    });
    expect(listed?.kept).toMatch(why);
    expect(listed?.source).toContain('a.yaml');
    if (listed === undefined) throw new Error('not listed');
    expect(rowOf(listed).kept).toMatch(why);
    const calls = [
      () => place.edit(ref('a'), disable, {}, signal),
      () => place.rewrite(listed, listed.manifest.replace('50', '51'), {}, signal),
      () => place.remove(ref('a'), {}, signal),
    ];
    for (const call of calls) {
      const { reason, message } = await refusal(call());
      expect([reason, message]).toEqual(['Invalid', expect.stringMatching(/a\.yaml/)]);
    }
    const spec = { baseURL: 'http://models.example/v1' };
    const metadata = { name: 'a', namespace: 'default' };
    const again = await refusal(place.create({ kind: 'UpstreamNode', metadata, spec }, {}, signal));
    expect(again.reason).toBe('AlreadyExists');

    folders.write('a.yaml', node('a'));
    expect((await place.get(ref('a'), signal)).kept).toBeUndefined();
    folders.write('a.yaml', '');
    expect(await place.list('UpstreamNode', undefined, signal)).toEqual([]);
  });

  test('without it a resource that is not found may be in a file that cannot be read', async () => {
    const { place } = folderOf({ 'a.yaml': `${node('a')}x\n` });
    const { reason, message } = await refusal(place.get(ref('a'), signal));
    expect([reason, message]).toEqual(['NotFound', expect.stringMatching(/a\.yaml:\d+: is not YAML/)]);
  });

  test('a watch tells of statuses and of keys that are made', async () => {
    folders = new Folders({ 'a.yaml': node('a') });
    const { store } = await folders.open();
    const place = folderDeclarations({ manifests: folders.manifests });
    const seen: (string | undefined)[] = [];
    const stop = new AbortController();
    const watching = place.watch(
      'UpstreamNode',
      undefined,
      ({ after }) => void seen.push(after?.resource.status?.phase),
      stop.signal,
    );
    await expect.poll(() => seen.length).toBe(1);
    const running = store.get('UpstreamNode', 'default', 'a');
    if (running === undefined) throw new Error('not read');
    await store.writeStatus('UpstreamNode', running, { phase: 'offline' }, signal);
    await expect.poll(() => seen, { timeout: 10_000 }).toContain('offline');
    stop.abort();
    await watching;
  });

  test('the folder beside the manifests is taken only where it is one', () => {
    folders = new Folders({ 'a.yaml': node('a') });
    mkdirSync(join(folders.root, 'data'));
    writeFileSync(join(folders.root, 'data', 'sealing-recipient.txt'), 'age1other\n');
    const place = folderDeclarations({ manifests: folders.manifests });
    return expect(place.sealingRecipient(signal)).rejects.toThrow(/--data/);
  });
});
