import { createHash } from 'node:crypto';
import { copyFile, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder, runProgram } from './cached-folder.ts';

const source = fileURLToPath(new URL('./npm/', import.meta.url));

/**
 * Loads packages that `npm/package-lock.json` pins, installed into the user's cache folder when they are missing: at
 * 130 MB they are too much for everybody who works on this project. No script of theirs runs.
 *
 * @returns by name, what each package exports; what the tests use of it is theirs to say
 */
export async function loadPackage<T>(name: string): Promise<T> {
  const lock = await readFile(join(source, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = await cachedFolder(`npm-${version}`, async (staging) => {
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(source, file), join(staging, file));
    await runProgram('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: staging,
    });
  });
  return createRequire(join(folder, 'package.json'))(name) as T;
}
