import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { withExclusiveLock } from './exclusive-lock.ts';
import { fillFolder } from './fill-folder.ts';

/**
 * The folder `name` in this project's part of the user's cache; when it is missing, `fill` makes it, whole or not at all.
 * Others who want it meanwhile wait, at most a minute longer than `timeoutMs`. @throws what `fill` throws
 */
export async function cachedFolder(
  name: string,
  timeoutMs: number,
  fill: (staging: string) => Promise<unknown>,
): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'model-gateway', name);
  if (await exists(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const install = async () => {
    if (await exists(folder)) return;
    console.error(`Installing ${name} into the user's cache folder…`);
    await fillFolder(folder, async (staging) => {
      await fill(staging);
      return staging;
    });
  };
  await withExclusiveLock(`${folder}.lock`, timeoutMs + 60_000, () => {}, install);
  return folder;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
