import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../../support/cached-folder.ts';
import { runProgram } from '../../support/run-program.ts';

const source = fileURLToPath(new URL('./python/', import.meta.url));

/** How long an install may take. */
const installMs = 300_000;
/** How long all scenarios of a client may take. */
const scenariosMs = 50_000;

/** A Python that has the packages of `python/requirements.txt`, or why there is none. */
export type Python = { readonly folder: string } | { readonly missing: string };

/**
 * Finds Python 3.10 or newer with pip, and installs the pinned packages into the user's cache folder when they are
 * missing there. Nothing is built: where a platform has no wheel of a package, it is as if there were no Python.
 */
export async function findPython(): Promise<Python> {
  const requirements = join(source, 'requirements.txt');
  try {
    const about = 'import sys, pip; print(sys.implementation.cache_tag, sys.version_info >= (3, 10))';
    const [tag = '', recent] = (await runProgram('python3', ['-c', about])).trim().split(' ');
    if (recent !== 'True') return { missing: `Python is older than 3.10: ${tag}` };
    const pinned = await readFile(requirements);
    const version = createHash('sha256').update(pinned).digest('hex').slice(0, 16);
    const folder = await cachedFolder(
      `clients/python-${version}-${tag}-${process.platform}-${process.arch}`,
      installMs,
      async (staging) =>
        await runProgram('python3', [
          ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'],
          ...['--only-binary', ':all:', '--target', staging, '--requirement', requirements],
        ]),
    );
    return { folder };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { missing: `no python3 with pip and these packages: ${reason.trim().split('\n').at(-1)}` };
  }
}

/** Runs the scenarios of `python/<script>`; answers what each returned, by name. */
export async function runScenarios(
  python: Python,
  script: string,
  gateway: { readonly baseURL: string; readonly key: string },
): Promise<Readonly<Record<string, unknown>>> {
  if ('missing' in python) throw new Error(python.missing);
  const printed = await runProgram('python3', [join(source, script)], {
    timeoutMs: scenariosMs,
    env: {
      PYTHONPATH: python.folder,
      PYTHONDONTWRITEBYTECODE: '1',
      BASE_URL: gateway.baseURL,
      API_KEY: gateway.key,
    },
  });
  return JSON.parse(printed) as Record<string, unknown>;
}
