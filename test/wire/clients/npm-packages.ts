import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installedPackages } from '../../support/installed-packages.ts';

const source = fileURLToPath(new URL('./npm/', import.meta.url));

/** How long an install may take: the largest download is about 60 MB. */
const installMs = 300_000;

/**
 * Loads packages that `npm/package-lock.json` pins, installed into the user's cache folder when they are missing: at
 * 130 MB they are too much for everybody who works on this project. No script of theirs runs.
 *
 * @returns by name, what each package exports; what the tests use of it is theirs to say
 */
export async function loadPackage<T>(name: string): Promise<T> {
  const folder = await installedPackages(source, installMs, (digest) => `clients/npm-${digest}`);
  return createRequire(join(folder, 'package.json'))(name) as T;
}
