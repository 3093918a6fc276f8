import { runProduct } from '../support/run-product.ts';
import type { Fault } from './fault.ts';
import { madeKey, makeKey, opening } from './made-keys.ts';
import type { Scene } from './scene.ts';
import { smallDisk } from './small-disk.ts';

/** A data folder that takes nothing for a while: keys are refused, callers served, and all is well once it takes again. */
async function unwritable(
  scene: Scene,
  options: string,
  how: (disk: Awaited<ReturnType<typeof smallDisk>>) => { begin(): Promise<void>; end(): Promise<void> },
): Promise<void> {
  const disk = await smallDisk(scene, options);
  const served = await scene.own(disk.standalone);
  const before = await madeKey(served);
  const mark = served.honest.mark();
  const { begin, end } = how(disk);
  await begin();
  const { status, code, message } = await served.ask({ key: served.master, path: '/keys', body: {} });
  scene.must(`a key that cannot be stored is not answered: ${status}`, status >= 500);
  scene.same('keys of before that open meanwhile', await opening(served, [before]), 1);
  // Manifests bite all the same: they need no writing.
  const { chat } = await served.declare([{}]);
  scene.same('a node declared meanwhile', (await chat()).status, 200);
  const { failed } = await served.honest.since(mark);
  scene.same('honest requests that failed meanwhile', failed, []);
  await end();
  let after: string | undefined;
  await scene.recovers('keys are made again', async () => {
    after = await makeKey(served);
    return after !== undefined;
  });
  await served.process.stop('SIGKILL');
  await served.restart();
  scene.same('answered keys that open after a kill', await opening(served, [before, after ?? '']), 2);
  scene.saw(`POST /v1/keys meanwhile ${status} ${code}: ${message}`);
}

export const diskFaults: readonly Fault[] = [
  {
    id: 'disk-full',
    group: 'process',
    section: 'Standalone mode, Keys API',
    promise:
      'a full disk refuses new keys with an error and harms no caller; keys answered before and after survive a kill',
    harm: 'while down',
    needs: ['mounts'],
    run: (scene) => unwritable(scene, 'size=2m', (disk) => ({ begin: disk.fill, end: disk.free })),
  },
  {
    id: 'disk-out-of-inodes',
    group: 'process',
    section: 'Standalone mode, Keys API',
    promise: 'a disk that can hold no more files refuses new keys with an error and harms no caller',
    harm: 'while down',
    needs: ['mounts'],
    run: (scene) =>
      unwritable(scene, 'size=2m,nr_inodes=100', (disk) => ({ begin: disk.fill, end: disk.free })),
  },
  {
    id: 'disk-read-only',
    group: 'process',
    section: 'Standalone mode, Keys API',
    promise: 'a data folder that turned read-only refuses new keys with an error and harms no caller',
    harm: 'while down',
    needs: ['mounts'],
    run: (scene) =>
      unwritable(scene, 'size=2m', (disk) => ({
        begin: () => disk.readOnly(true),
        end: () => disk.readOnly(false),
      })),
  },
  {
    id: 'disk-unusable-at-start',
    group: 'process',
    section: 'Standalone mode',
    promise: 'a process whose data folder cannot be used ends at once and says which folder',
    async run(scene) {
      const served = await scene.shared();
      const flags = [
        '--manifests',
        served.folders.manifests,
        '--listen',
        '127.0.0.1:0',
        '--admin-listen',
        '127.0.0.1:0',
      ];
      // A file is no folder, for root neither.
      const data = `${served.folders.manifests}/honest.yaml`;
      const { code, stdout, stderr } = await runProduct([
        'standalone',
        ...flags,
        '--data',
        data,
        '--no-console',
      ]);
      scene.must(`exit code ${code}, not 0`, code > 0);
      scene.must('it names the folder', `${stdout}${stderr}`.includes(data));
      scene.saw(`exit code ${code}`);
    },
  },
];
