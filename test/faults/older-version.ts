import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A program as the version before this one may have been. */
export interface OlderVersion extends AsyncDisposable {
  /** For `startRole`. */
  readonly program: readonly string[];
}

/**
 * The sources as they are, under a lower version, and without `spec.displayName` of an UpstreamNode. No earlier commit, because
 * there is none in a shallow clone. @throws when the sources have no such field where it is looked for
 */
export async function olderVersion(): Promise<OlderVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-older-'));
  await cp(join(root, 'src'), join(folder, 'src'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const about = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as object;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...about, version: '0.0.9' }));
  const file = join(folder, 'src/resources/upstream-node.ts');
  const text = await readFile(file, 'utf8');
  const older = text.replace(/\n {4}displayName: line\(253\)[\s\S]*?\.optional\(\),/, '');
  if (older === text) throw new Error(`${file} has no displayName to leave out`);
  await writeFile(file, older);
  return {
    program: [process.execPath, '--disable-warning=ExperimentalWarning', join(folder, 'src/main.ts')],
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
