import { link, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lockFile } from './file-lock.ts';
import { forceFolder } from './force-folder.ts';

/** The file is no longer what was read. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/**
 * Replaces the text of a file by the text that `change` returns; undefined deletes the file. The new text is written to
 * another file, forced to disk and renamed, with the mode and the owner of the old file, so that no reader sees half of it.
 * A link is followed, and an unchanged text is not written. Our own edits wait for each other. Edits of other programs are
 * noticed right before the rename. Returns the new text. Throws FileChangedError after such an edit, what `change` throws,
 * and the file system's errors.
 */
export async function writeManifest(
  path: string,
  change: (text: string) => string | undefined,
): Promise<string | undefined> {
  const target = await realpath(path);
  return withTemporary(target, async (temporary) => {
    const before = await readFile(target, 'utf8');
    const text = change(before);
    if (text === before) return text;
    const { mode, uid, gid, ino } = await stat(target);
    await writeWhole(temporary, text ?? '', 0o600, async (file) => {
      await file.chmod(mode & 0o7777);
      const own = await file.stat();
      if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
    });
    const now = await stat(target).catch(() => undefined);
    if (now?.ino !== ino || (await readFile(target, 'utf8')) !== before) throw new FileChangedError();
    if (text === undefined) await unlink(target);
    else await rename(temporary, target);
    return text;
  });
}

/**
 * Writes a new file at once, and never over another one. `hardLink` is for tests.
 * @returns false if a file of that name exists
 */
export async function writeNewManifest(path: string, text: string, hardLink = link): Promise<boolean> {
  return withTemporary(path, async (temporary) => {
    await writeWhole(temporary, text, 0o666);
    try {
      await hardLink(temporary, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!linkless.has(codeOf(error))) throw error;
      return renameToNew(temporary, path);
    }
    return true;
  });
}

/** The errors of file systems without hard links: exFAT, SMB, some folders that are mounted into containers. */
const linkless: ReadonlySet<unknown> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EINVAL',
]);

/** Creates an empty file of that name first, so that the rename does not replace a file of another program. */
async function renameToNew(temporary: string, path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  await rename(temporary, path);
  return true;
}

/** Runs `work` while only this process edits `target`, then forces the folder to disk. */
async function withTemporary<T>(target: string, work: (temporary: string) => Promise<T>): Promise<T> {
  const folder = dirname(target);
  const unlock = await lockFile(join(folder, `.${basename(target)}.lock`));
  const temporary = join(folder, `.${basename(target)}.edit`);
  try {
    // A process that was killed may have left its temporary file.
    await unlink(temporary).catch(() => {});
    const result = await work(temporary);
    await forceFolder(folder);
    return result;
  } finally {
    await unlink(temporary).catch(() => {});
    unlock();
  }
}

type FileHandle = Awaited<ReturnType<typeof open>>;

async function writeWhole(
  path: string,
  text: string,
  mode: number,
  prepare?: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await prepare?.(file);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
