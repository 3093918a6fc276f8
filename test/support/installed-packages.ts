import { createHash } from 'node:crypto';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedFolder } from './cached-folder.ts';
import { runProgram } from './run-program.ts';

/**
 * A folder of the user's cache with the npm packages that the lock file in `source` pins, hashes and all. No script of any
 * package runs. `nameOf` is told the digest of the lock file. @throws with npm's own words when they cannot be had
 */
export async function installedPackages(
  source: string,
  timeoutMs: number,
  nameOf: (digest: string) => string,
): Promise<string> {
  const lock = await readFile(join(source, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  return cachedFolder(nameOf(digest), timeoutMs, async (staging) => {
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(source, file), join(staging, file));
    const flags = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
    await runProgram('npm', ['ci', ...flags], { cwd: staging, timeoutMs });
  });
}
