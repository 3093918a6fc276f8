import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const pollEveryMs = 500;

/**
 * Runs `work` while no other process (nor another caller in this one) holds the lock file, and returns what it returns.
 *
 * The lock is SQLite's, that is the operating system's lock on an open file: a holder that dies by kill -9 frees it at
 * once. A file that holds a pid would not do, because pids repeat. `onWait` is called once when another holds the lock.
 *
 * @throws when the lock is not free within `timeoutMs`, and whatever `work` throws.
 */
export async function withExclusiveLock<T>(
  lockFile: string,
  timeoutMs: number,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  const database = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    for (let attempt = 0; !tryLock(database); attempt++) {
      if (attempt === 0) onWait();
      if (Date.now() > deadline) {
        throw new Error(`${lockFile}: another process has held this lock for ${timeoutMs / 1000} s; end it`);
      }
      await sleep(pollEveryMs);
    }
    return await work();
  } finally {
    database.close();
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    const busy = 5; // SQLITE_BUSY
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return false;
    throw error;
  }
}
