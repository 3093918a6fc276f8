import { link, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { forceFolder } from '../../store/force-folder.ts';

/** The file is no longer what was read. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/** How long other edits of the same file are waited for, and after which time one's leavings are those of a crash. */
const lockWaitMs = 8_000;
const staleMs = 5_000;

/**
 * Replaces the text of a file by what `change` makes of it, whole or not at all: it is written beside it, forced to disk
 * and renamed, with the mode and the owner of the old one. A link is followed. Undefined deletes the file; what is the
 * same is not written. Edits of ours wait for each other; anybody else's is noticed right before the rename.
 * Returns the new text. Throws FileChangedError for the latter, what `change` throws, else the file system's errors.
 */
export async function writeManifest(
  path: string,
  change: (text: string) => string | undefined,
): Promise<string | undefined> {
  const target = await realpath(path);
  const folder = dirname(target);
  // The same name for all: whoever has made it is alone.
  const temporary = join(folder, `.${basename(target)}.edit`);
  const file = await openAlone(temporary);
  let isMoved = false;
  try {
    const before = await readFile(target, 'utf8');
    let text: string | undefined;
    try {
      text = change(before);
      if (text === before) return text;
      const { mode, uid, gid } = await stat(target);
      await file.chmod(mode & 0o7777);
      const own = await file.stat();
      if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
      await file.writeFile(text ?? '');
      await file.sync();
    } finally {
      await file.close();
    }
    if ((await readFile(target, 'utf8')) !== before) throw new FileChangedError();
    if (text === undefined) {
      await unlink(target);
    } else {
      await rename(temporary, target);
      isMoved = true;
    }
    await forceFolder(folder);
    return text;
  } finally {
    // Once moved, a file of that name is the next writer's.
    if (!isMoved) await unlink(temporary).catch(() => {});
  }
}

/** Writes a new file; never over another. @returns false where there is one of that name */
export async function writeNewManifest(path: string, text: string): Promise<boolean> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.edit`);
  const file = await openAlone(temporary, 0o666);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temporary).catch(() => {});
  }
  await forceFolder(folder);
  return true;
}

async function openAlone(path: string, mode = 0o600) {
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    try {
      return await open(path, 'wx', mode);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > staleMs) await unlink(path).catch(() => {});
      else if (performance.now() > deadline) throw new FileChangedError();
      else await wait(20);
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
