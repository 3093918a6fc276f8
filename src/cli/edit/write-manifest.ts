import { constants } from 'node:fs';
import { link, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The file is no longer what was read. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/** How long another edit of the same file is waited for, and after which time its leavings are those of a crash. */
const lockWaitMs = 2_000;
const staleMs = 5_000;

/**
 * Replaces the text of a file, whole or not at all: it is written beside it, forced to disk and renamed, with the mode and
 * the owner of the old one. A link is followed. An undefined `text` deletes the file.
 * Throws FileChangedError unless the file holds `read` at that moment, else the file system's errors.
 */
export async function writeManifest(path: string, read: string, text: string | undefined): Promise<void> {
  const target = await realpath(path);
  const folder = dirname(target);
  // The name is the same for all: the second to come waits for the first, and then finds the file changed.
  const temporary = join(folder, `.${basename(target)}.edit`);
  const file = await openAlone(temporary);
  let isMoved = false;
  try {
    const { mode, uid, gid } = await stat(target);
    try {
      await file.chmod(mode & 0o7777);
      const own = await file.stat();
      if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
      await file.writeFile(text ?? '');
      await file.sync();
      if ((await readText(target)) !== read) throw new FileChangedError();
    } finally {
      await file.close();
    }
    if (text === undefined) {
      await unlink(target);
    } else {
      await rename(temporary, target);
      isMoved = true;
    }
  } finally {
    // Once moved, a file of that name is the next writer's.
    if (!isMoved) await unlink(temporary).catch(() => {});
  }
  await syncFolder(folder);
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
  await syncFolder(folder);
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

async function readText(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY);
  try {
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
