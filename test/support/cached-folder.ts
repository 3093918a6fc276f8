import { access } from 'node:fs/promises';
import { fillFolder } from './fill-folder.ts';
import { fromCache } from './from-cache.ts';

/**
 * The folder `name` in this project's part of the user's cache; when it is missing, `fill` makes it, whole or not at all.
 * Others who want it meanwhile wait, at most a minute longer than `timeoutMs`. @throws what `fill` throws
 */
export async function cachedFolder(
  name: string,
  timeoutMs: number,
  fill: (staging: string) => Promise<unknown>,
): Promise<string> {
  return fromCache({
    name,
    find: (folder) =>
      access(folder).then(
        () => folder,
        () => undefined,
      ),
    async get(folder) {
      console.error(`Installing ${name} into the user's cache folder…`);
      await fillFolder(folder, async (staging) => {
        await fill(staging);
        return staging;
      });
    },
    timeoutMs: timeoutMs + 60_000,
  });
}
