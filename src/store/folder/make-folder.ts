import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing.
 * @returns the topmost folder that was made; undefined when all were there
 * @throws the file system's error. Node.js reports a missing folder for one that a read-only file system refuses, so the
 * first missing one is made alone then: that reports the reason.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  try {
    return await mkdir(path, { recursive: true, mode });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error;
    let missing = resolve(path);
    while (dirname(missing) !== missing && !existsSync(dirname(missing))) missing = dirname(missing);
    await mkdir(missing, { mode });
    return await mkdir(path, { recursive: true, mode });
  }
}
