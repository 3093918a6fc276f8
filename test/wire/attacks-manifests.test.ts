import { execFileSync } from 'node:child_process';
import { mkdir, open, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  keyWithHash,
  manifest,
  manifests,
  newFolders,
  type Standalone,
  startStandalone,
} from '../support/standalone.ts';

// A folder of manifests that somebody filled with other files: the process continues to read and serve, and logs one line for
// each file that it could not read.
const key = keyWithHash();
let standalone: Standalone;

const node = (name: string) =>
  manifest('UpstreamNode', name, {
    baseURL: 'http://127.0.0.1:9/v1',
    healthCheck: { mode: 'None' },
    sync: { discovery: 'Never' },
    manualModels: [`model-of-${name}`],
  });
const secretText = 'planted-outside-of-the-folder';

beforeAll(async () => {
  const folders = await newFolders({
    'good.yaml': manifests(node('good'), manifest('APIKey', 'k', { hash: key.hash })),
  });
  const inside = (name: string) => join(folders.manifests, name);
  // Things that would never end, or never answer, were they opened.
  execFileSync('mkfifo', [inside('fifo.yaml'), inside('fifo folder.yml')]);
  await symlink('/dev/zero', inside('zero.yaml'));
  await symlink('/dev/full', inside('full.yaml'));
  await symlink('/dev/stdin', inside('stdin.json'));
  // Links around in circles; two in one folder double with each level.
  await symlink('loop.yaml', inside('loop.yaml'));
  await mkdir(inside('deep'));
  for (const name of ['a', 'b', 'c']) await symlink('.', join(inside('deep'), name));
  await symlink('..', join(inside('deep'), 'up'));
  await symlink('/', join(inside('deep'), '.root'));
  await writeFile(join(inside('deep'), 'in.yaml'), node('deep'));
  // A link out of the folder is read, as ConfigMaps need it; what is no manifest there is not told of.
  await writeFile(join(folders.root, 'outside.txt'), `root:${secretText}:0:0\n`);
  await symlink(join(folders.root, 'outside.txt'), inside('passwd.yaml'));
  await writeFile(join(folders.root, 'linked'), node('linked'));
  await symlink(join(folders.root, 'linked'), inside('linked.yaml'));
  await symlink('/nowhere', inside('dangling.yaml'));
  // More than is read, without taking room on the disk.
  await (await open(inside('huge.yaml'), 'w')).close();
  await truncate(inside('huge.yaml'), 300 * 1024 * 1024);
  // Names that would be lines of the log or commands of a terminal.
  const odd = 'odd\n12:00:00 error Forged a line\u001b[2J\u009b2K\u202e.yaml';
  await writeFile(inside(odd), 'kind: [\n');
  await writeFile(inside('__proto__.yaml'), node('proto'));
  await writeFile(inside('..yaml'), node('hidden'));
  await writeFile(inside('-rf.yaml'), node('dash'));
  await writeFile(inside('no-utf8.yaml'), Buffer.from([0x6b, 0xff, 0xfe]));
  // Values that a reader of YAML might build, call or repeat.
  const aliases = `a: &a [${'x, '.repeat(9)}x]\n${'bcdefghi'
    .split('')
    .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]}, `.repeat(9)}*${'abcdefgh'[index]}]\n`)
    .join('')}`;
  await writeFile(
    inside('laughs.yaml'),
    `${aliases}kind: UpstreamNode\napiVersion: modelgateway.dev/v1alpha1\n`,
  );
  await writeFile(inside('tags.yaml'), `kind: !!js/function 'function () { process.exit(1) }'\n`);
  await writeFile(
    inside('merge.yaml'),
    '__proto__: {polluted: true}\n<<: {kind: UpstreamNode}\nconstructor: {prototype: {polluted: 1}}\n',
  );
  await writeFile(inside('brackets.yaml'), `a: ${'['.repeat(100_000)}`);
  await writeFile(inside('comments.yaml'), `${'# a licence\r\n'.repeat(5_000)}${node('after-comments')}`);
  standalone = await startStandalone({ folders, flags: ['--log-format', 'text'] });
});
afterAll(async () => {
  const { folders } = standalone;
  await standalone[Symbol.asyncDispose]();
  await folders[Symbol.asyncDispose]();
});

test('every manifest is served, whatever other files are beside it', async () => {
  const models = await standalone.caller(key.text).models();
  expect(models).toEqual(
    ['after-comments', 'dash', 'deep', 'good', 'linked', 'proto'].map((name) => `model-of-${name}`),
  );
});

test('changes still apply at once', async () => {
  await standalone.folders.write(
    'good.yaml',
    manifests(node('changed'), manifest('APIKey', 'k', { hash: key.hash })),
  );
  await eventually(
    'it changed',
    async () => (await standalone.caller(key.text).models()).includes('model-of-changed'),
    5_000,
    10,
  );
});

test('a file that could not be read is reported on one line, without its content', () => {
  const output = standalone.output();
  expect(output).not.toContain(secretText);
  expect(output).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
  const lines = output.split('\n');
  expect(lines.filter((line) => line.startsWith('12:00:00 error Forged'))).toEqual([]);
  for (const file of [
    'huge.yaml',
    'no-utf8.yaml',
    'loop.yaml',
    'odd\\n12:00',
    'brackets.yaml',
    'laughs.yaml',
  ]) {
    expect(lines.filter((line) => line.includes(file)).length, file).toBeGreaterThan(0);
  }
  for (const file of ['fifo', 'zero.yaml', 'full.yaml']) {
    expect(
      lines.filter((line) => line.includes(file)),
      file,
    ).toEqual([]);
  }
});
