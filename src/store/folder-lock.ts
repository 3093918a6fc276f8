import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorText } from '../observe/error-text.ts';

/** Another process holds the folder, or the lock cannot be taken at all; the message says what to do. */
class FolderLockError extends Error {
  override readonly name = 'FolderLockError';
}

/**
 * Takes a folder for this process alone, or throws at once.
 *
 * Node has no file locks of its own, and files that name a process id go stale and repeat. SQLite's lock on its file
 * is the kernel's (`fcntl`): two starts cannot both get it, and it ends with the process, however that ends. The file
 * stays empty.
 * @returns gives the folder free again
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'lock');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    // By its name: closing another handle of the file would end the lock.
    chmodSync(path, 0o600);
  } catch (error) {
    database?.close();
    throw new FolderLockError(lockMessage(folder, error), { cause: error });
  }
  const held = database;
  return () => {
    if (held.isOpen) held.close();
  };
}

const busy = 5;

function lockMessage(folder: string, error: unknown): string {
  if (error instanceof Error && 'errcode' in error && error.errcode === busy) {
    return `Another process uses the data folder ${folder}; stop it, or name another folder with --data`;
  }
  const reason = errorText(error);
  return `The data folder ${folder} cannot be locked (${reason}); check its permissions, or name another with --data`;
}
