import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../support/cached-folder.ts';
import { runProgram } from '../support/run-program.ts';

/** Its packages have 700 MB on disk. */
const installMs = 600_000;
const requirements = fileURLToPath(new URL('./packages/aider/requirements.txt', import.meta.url));

/** How a program of Python is started. */
export interface PythonProgram {
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** aider in the user's cache folder, with the versions of all its packages pinned; or why there is none. */
export async function installAider(): Promise<PythonProgram | { readonly missing: string }> {
  try {
    const about =
      'import sys, pip; print(sys.implementation.cache_tag, (3, 10) <= sys.version_info < (3, 13))';
    const [tag = '', fits] = (await runProgram('python3', ['-c', about])).trim().split(' ');
    if (fits !== 'True') return { missing: `aider needs Python 3.10 to 3.12, and this is ${tag}` };
    const digest = createHash('sha256')
      .update(await readFile(requirements))
      .digest('hex')
      .slice(0, 16);
    const name = `agents/aider-${digest}-${tag}-${process.platform}-${process.arch}`;
    const folder = await cachedFolder(name, installMs, (staging) =>
      runProgram(
        'python3',
        [
          ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', '--no-deps'],
          ...['--only-binary', ':all:', '--target', staging, '--requirement', requirements],
        ],
        { timeoutMs: installMs },
      ),
    );
    return {
      program: ['python3', '-m', 'aider'],
      env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { missing: `no python3 with pip and these packages: ${reason.trim().split('\n').at(-1)}` };
  }
}
