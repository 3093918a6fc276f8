import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A program of an earlier commit. */
export interface ReleasedVersion extends AsyncDisposable {
  /** For `startRole`. */
  readonly program: readonly string[];
}

/** The sources of a commit with the modules of today; undefined if this clone does not have the commit. */
export async function releasedVersion(commit: string): Promise<ReleasedVersion | undefined> {
  if (!existsSync(join(root, '.git'))) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-released-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const archive = execFileSync('git', ['archive', commit, 'src', 'package.json'], {
      cwd: root,
      maxBuffer: 100e6,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await mkdir(join(folder, 'program'));
    execFileSync('tar', ['-x', '-C', join(folder, 'program')], { input: archive });
  } catch {
    await remove();
    return undefined;
  }
  await symlink(join(root, 'node_modules'), join(folder, 'program/node_modules'));
  return {
    program: [process.execPath, '--disable-warning=ExperimentalWarning', join(folder, 'program/src/main.ts')],
    [Symbol.asyncDispose]: remove,
  };
}
