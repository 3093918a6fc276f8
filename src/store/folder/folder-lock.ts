import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorText } from '../../observe/error-text.ts';

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
    throw new FolderLockError(lockMessage(folder, path, error), { cause: error });
  }
  const held = database;
  return () => {
    if (held.isOpen) held.close();
  };
}

const busy = 5;

function lockMessage(folder: string, path: string, error: unknown): string {
  if (error instanceof Error && 'errcode' in error && error.errcode === busy) {
    const holder = holderOf(path);
    const who = holder === undefined ? 'Another process' : `Another process (${holder})`;
    return `${who} uses the data folder ${folder}; stop it, or name another folder with --data`;
  }
  const reason = errorText(error);
  return `The data folder ${folder} cannot be locked (${reason}); check its permissions, or name another with --data`;
}

/**
 * The id of the process that holds a lock on a file, by `/proc/locks` (proc_locks(5)); undefined where that is not known:
 * outside of Linux, for a process of another PID namespace, on file systems that show another device there.
 */
function holderOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    // As glibc's gnu_dev_major and gnu_dev_minor.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
    const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn & 0xffffffffn);
    const hex = (part: bigint) => part.toString(16).padStart(2, '0');
    const place = `${hex(major)}:${hex(minor)}:${ino}`;
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, , , mode, pid, where] = line.split(/ +/);
      if (where === place && mode === 'WRITE' && pid !== undefined && /^[1-9]\d*$/.test(pid)) return pid;
    }
  } catch {
    // Only the message is less exact.
  }
  return undefined;
}
