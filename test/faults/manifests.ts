import { mkdir, open, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '../support/run-program.ts';
import { keyWithHash, manifest, manifests } from '../support/standalone.ts';
import type { Fault } from './fault.ts';
import type { Served } from './served.ts';

const still = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
const node = (name: string, url: string, models: readonly string[]) =>
  manifest('UpstreamNode', name, { baseURL: url, manualModels: models, ...still });

/** Whether all of these models are served now. */
async function serves(served: Served, models: readonly string[]): Promise<boolean> {
  const answers = await Promise.all(models.map((model) => served.ask({ path: `/models/${model}` })));
  return answers.every(({ status }) => status === 200);
}

/** Puts files into a folder as the kubelet does with a ConfigMap: one symbolic link changes, for all of them at once. */
async function mountVersion(
  folder: string,
  version: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const own = join(folder, `..${version}`);
  await mkdir(own, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(own, name), text);
    await symlink(join('..data', name), join(folder, name)).catch(() => undefined);
  }
  await symlink(`..${version}`, join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
}

export const manifestFaults: readonly Fault[] = [
  {
    id: 'manifests-half-written',
    group: 'manifests',
    section: 'Standalone mode',
    promise:
      'a file that is written piece by piece keeps its last good version in force at every moment, and applies once it is whole',
    async run(scene) {
      const served = await scene.shared();
      const name = 'half.yaml';
      scene.onEnd(() => served.folders.remove(name));
      await served.folders.write(name, node('half', served.upstream.url, ['half-old', 'half-stays']));
      await served.settled();
      const text = node('half', served.upstream.url, ['half-new', 'half-stays']);
      const file = await open(join(served.folders.manifests, name), 'w');
      for (let at = 0; at < text.length; at += Math.ceil(text.length / 8)) {
        await file.write(text.slice(at, at + Math.ceil(text.length / 8)));
        await file.sync();
        await delay(150);
        scene.must(`after ${at} bytes: what stays is served`, await serves(served, ['half-stays']));
      }
      await file.close();
      await scene.recovers('the new version is in force', () => serves(served, ['half-new', 'half-stays']));
      scene.saw(`${text.length} bytes in 8 pieces over 1.2 s; never a moment without the node`);
    },
  },
  {
    id: 'manifests-truncated',
    group: 'manifests',
    section: 'Standalone mode',
    promise: 'a file that is no YAML any more keeps its last good version whole, told with file and line',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      scene.onEnd(() => served.folders.remove('broken.yaml'));
      await served.folders.write('broken.yaml', node('broken', served.upstream.url, ['broken-model']));
      await served.settled();
      const before = served.process.complaints().length;
      await served.folders.write('broken.yaml', 'kind: UpstreamNode\nmetadata: {name: broken\nspec: [');
      await served.settled();
      scene.must('it is served on', await serves(served, ['broken-model']));
      const told = served.process
        .complaints()
        .slice(before)
        .filter(({ file }) => file === 'broken.yaml');
      scene.must(
        'it is told with its line',
        told.some(({ line }) => typeof line === 'number'),
      );
      scene.saw(`${told.length} line(s) of log; served on`);
    },
  },
  {
    id: 'manifests-renamed',
    group: 'manifests',
    section: 'Standalone mode',
    promise: 'files that are renamed, or change places, change nothing of what is in force',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const path = (file: string) => join(served.folders.manifests, file);
      const models = ['renamed-a', 'renamed-b'];
      for (const model of models)
        await served.folders.write(`${model}.yaml`, node(model, served.upstream.url, [model]));
      await served.settled();
      scene.onEnd(async () => {
        for (const model of models) await rm(path(`${model}.yaml`), { force: true });
      });
      let gone = 0;
      let looked = 0;
      const over = new AbortController();
      const looking = (async () => {
        while (!over.signal.aborted) {
          looked += 1;
          if (!(await serves(served, models))) gone += 1;
        }
      })();
      for (let round = 0; round < 10; round += 1) {
        await rename(path('renamed-a.yaml'), path('renamed-c.yaml'));
        await rename(path('renamed-b.yaml'), path('renamed-a.yaml'));
        await rename(path('renamed-c.yaml'), path('renamed-b.yaml'));
        await delay(100);
      }
      over.abort();
      await looking;
      scene.same('looks that missed a model', gone, 0);
      scene.saw(`10 times in turns; ${looked} looks, none missed a model`);
    },
  },
  {
    id: 'manifests-configmap',
    group: 'manifests',
    section: 'Standalone mode',
    promise:
      'a folder swapped by its symbolic link, as a ConfigMap is, applies whole each time; what is in every version is always served',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const folder = join(served.folders.manifests, 'mounted');
      scene.onEnd(() => rm(folder, { recursive: true, force: true }));
      const version = (count: number) => ({
        'stays.yaml': node('mounted-stays', served.upstream.url, ['mounted-stays']),
        'moves.yaml': node('mounted-moves', served.upstream.url, [`mounted-${count}`]),
      });
      await mkdir(folder);
      await mountVersion(folder, 'v0', version(0));
      await scene.recovers(
        'the first is served',
        () => serves(served, ['mounted-stays', 'mounted-0']),
        10_000,
      );
      for (let count = 1; count <= 5; count += 1) {
        await mountVersion(folder, `v${count}`, version(count));
        await rm(join(folder, `..v${count - 1}`), { recursive: true });
        await scene.recovers(
          `version ${count} is served`,
          async () => {
            scene.must('what stays is served', await serves(served, ['mounted-stays']));
            return serves(served, [`mounted-${count}`]);
          },
          10_000,
        );
      }
      scene.saw('5 swaps, the version before removed at once');
    },
  },
  {
    id: 'manifests-folder-away',
    group: 'manifests',
    section: 'Standalone mode',
    promise: 'a folder of manifests that is away for a moment (unmounted, moved) takes nothing out of force',
    async run(scene) {
      const served = await scene.own();
      await served.declare([{}]);
      const { manifests: folder, root } = served.folders;
      await rename(folder, join(root, 'moved'));
      await delay(1_000);
      scene.must(
        'callers are served meanwhile',
        (await served.ask({ path: '/models/honest' })).status === 200,
      );
      await rename(join(root, 'moved'), folder);
      const again = await served.declare([{}]);
      scene.same('a node declared afterwards', (await again.chat()).status, 200);
      scene.saw('away for a second; served throughout, and followed again');
    },
  },
  {
    id: 'manifests-strange-files',
    group: 'manifests',
    section: 'Standalone mode',
    promise:
      'a pipe, a link in a circle, a link to nothing, a binary file and a folder with a file’s name harm no other manifest',
    form: 'short',
    needs: ['linux'],
    async run(scene) {
      const served = await scene.shared();
      const folder = join(served.folders.manifests, 'strange');
      scene.onEnd(() => rm(folder, { recursive: true, force: true }));
      await mkdir(folder);
      await runProgram('mkfifo', [join(folder, 'pipe.yaml')]);
      await symlink('circle.yaml', join(folder, 'circle.yaml'));
      await symlink('.', join(folder, 'around'));
      await symlink('/nowhere/at-all', join(folder, 'nothing.yaml'));
      await writeFile(join(folder, 'binary.yaml'), Buffer.from([0, 255, 254, 1, 2, 0xc3, 0x28]));
      await mkdir(join(folder, 'folder.yaml'));
      const { chat } = await served.declare([{}]);
      scene.same('a node declared beside them', (await chat()).status, 200);
      scene.saw('a node declared beside all of them serves');
    },
  },
  {
    id: 'manifests-bomb',
    group: 'manifests',
    section: 'Standalone mode',
    promise: 'YAML that unfolds to more than memory holds is refused; callers and other manifests go on',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      scene.onEnd(() => served.folders.remove('bomb.yaml'));
      const levels = Array.from(
        { length: 12 },
        (_, index) => `l${index + 1}: &l${index + 1} [${Array(10).fill(`*l${index}`).join(', ')}]`,
      );
      await served.folders.write(
        'bomb.yaml',
        `l0: &l0 [lol, lol, lol]\n${levels.join('\n')}\nkind: UpstreamNode\n`,
      );
      const { chat } = await served.declare([{}]);
      scene.same('a node declared beside it', (await chat()).status, 200);
      const told = served.process.complaints().filter(({ file }) => file === 'bomb.yaml').length;
      scene.must('it is told', told > 0);
      scene.saw(`${told} line(s) of log; a node declared beside it serves`);
    },
  },
  {
    id: 'manifests-10000-files',
    group: 'manifests',
    section: 'Standalone mode',
    promise: '10,000 files that come at once, and go at once, apply without harm to a request',
    async run(scene) {
      const served = await scene.own();
      const { manifests: folder } = served.folders;
      const last = keyWithHash();
      const aside = join(served.folders.root, 'aside');
      await mkdir(aside);
      for (let file = 0; file < 10_000; file += 1) {
        const { hash } = file === 9_999 ? last : keyWithHash();
        await writeFile(join(aside, `key-${file}.yaml`), manifest('APIKey', `key-${file}`, { hash }));
      }
      const opens = async () => (await served.ask({ key: last.text, path: '/models' })).status === 200;
      await rename(aside, join(folder, 'many'));
      await scene.recovers('the last key opens', opens, 60_000);
      const began = performance.now();
      await rename(join(folder, 'many'), aside);
      await scene.recovers('it is revoked', async () => !(await opens()), 60_000);
      scene.saw(
        `all in force, and revoked again ${Math.round(performance.now() - began)} ms after their folder went`,
      );
    },
  },
  {
    id: 'manifests-flapping',
    group: 'manifests',
    section: 'Standalone mode',
    promise: 'files that change without a pause for seconds do not keep a revocation waiting',
    form: 'short',
    async run(scene) {
      const served = await scene.shared();
      const key = keyWithHash();
      const file = 'flapping.yaml';
      scene.onEnd(() => Promise.all([served.folders.remove(file), served.folders.remove('revoked.yaml')]));
      await served.folders.write(
        'revoked.yaml',
        manifests(manifest('APIKey', 'revoked', { hash: key.hash })),
      );
      await served.settled();
      const over = new AbortController();
      const writing = (async () => {
        for (let count = 0; !over.signal.aborted; count += 1) {
          await served.folders.write(file, node('flapping', served.upstream.url, [`flapping-${count % 2}`]));
          await delay(20);
        }
      })();
      await delay(500);
      await writeFile(
        join(served.folders.manifests, 'revoked.yaml'),
        manifest('APIKey', 'revoked', { hash: key.hash, enabled: false }),
      );
      await scene.recovers(
        'the key is refused',
        async () => (await served.ask({ key: key.text, path: '/models' })).status === 401,
        10_000,
      );
      over.abort();
      await writing;
      scene.saw('a change every 20 ms; the key revoked meanwhile');
    },
  },
];
