import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Guard, startGuard } from './guard.ts';

/**
 * Makes `folder` all or nothing. Only for the holder of its lock, since it removes what a killed run left unfinished.
 *
 * @param fill puts the content into the empty folder `staging` and returns the folder inside it (or itself) to keep.
 */
export async function fillFolder(
  folder: string,
  fill: (staging: string, guard: Guard) => Promise<string>,
): Promise<void> {
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent)) {
    if (join(parent, name).startsWith(`${folder}.building-`)) await remove(join(parent, name));
  }
  const staging = `${folder}.building-${process.pid}`;
  const guard = startGuard();
  guard.watchFolder(staging);
  try {
    await mkdir(staging);
    const made = await fill(staging, guard);
    // Renamed when whole: a run that is killed halfway must leave nothing that looks complete.
    await remove(folder);
    await rename(made, folder);
  } finally {
    await remove(staging);
    // The guard ends some time later, when the next way of filling it may have made the folder again.
    guard.keepFolder(staging);
    guard.release();
  }
}

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });
