import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../support/run-program.ts';
import type { Folders, StandaloneOptions } from '../support/standalone.ts';
import { newFolders } from '../support/standalone.ts';
import type { Scene } from './scene.ts';

/** A file system of its own below the data folder, which can become full or read-only. */
export interface SmallDisk {
  /** Starts a process that has it as its data folder. */
  readonly standalone: StandaloneOptions;
  readonly folders: Folders;
  fill(): Promise<void>;
  free(): Promise<void>;
  readOnly(is: boolean): Promise<void>;
}

/**
 * Mounts a small file system in a mount namespace of its own, which a process keeps open that ends with this one: whatever
 * happens, the machine's own mounts stay as they were. `options` are those of tmpfs: `size=1m`, `nr_inodes=200`.
 */
export async function smallDisk(scene: Scene, options: string): Promise<SmallDisk> {
  const folders = await newFolders();
  scene.onEnd(() => folders[Symbol.asyncDispose]());
  await mkdir(folders.data);
  const script = 'mount -t tmpfs -o "$1" tmpfs "$2" && echo mounted && exec cat';
  const keeper = spawn(
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', options, folders.data],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  scene.onEnd(() => keeper.kill('SIGKILL'));
  const [said] = (await once(keeper.stdout, 'data')) as [Buffer];
  if (said.toString().trim() !== 'mounted') throw new Error('the small disk could not be mounted');
  const inside = join('/proc', String(keeper.pid), 'root', folders.data);
  const filler = join(inside, 'filler');
  const nsenter = ['nsenter', '--target', String(keeper.pid), '--mount', '--'];
  return {
    folders,
    standalone: { folders, run: { under: nsenter } },
    async fill() {
      await writeFile(filler, '').catch(() => undefined);
      // What is left is less than a page in the end.
      for (const bytes of [65_536, 4_096, 512]) {
        for (let full = false; !full; ) {
          full = await writeFile(filler, Buffer.alloc(bytes, 1), { flag: 'a' }).then(
            () => false,
            () => true,
          );
        }
      }
      for (let index = 0; index < 500; index += 1) {
        const made = await writeFile(join(inside, `empty-${index}`), '').then(
          () => true,
          () => false,
        );
        if (!made) break;
      }
      await chmod(filler, 0o600).catch(() => undefined);
    },
    async free() {
      await truncate(filler, 0).catch(() => undefined);
      for (let index = 0; index < 500; index += 1) await rm(join(inside, `empty-${index}`), { force: true });
      await rm(filler, { force: true });
    },
    async readOnly(is) {
      const [program = '', ...flags] = nsenter;
      const mount = (...args: string[]) => runProgram(program, [...flags, ...args]);
      if (!is) return void (await mount('umount', folders.data));
      // A file system with open files cannot become read-only; one that is mounted over it can.
      await mount('mount', '--bind', folders.data, folders.data);
      await mount('mount', '-o', 'remount,bind,ro', folders.data);
    },
  };
}
