import { constants, statSync, unlinkSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';

/** How long a process waits for others. */
const waitMs = 8_000;
const pauseMs = 20;
/** SQLite's result code for a file that another process has locked. */
const busy = 5;

/**
 * Locks the file `path` for this process, and waits at most 8 s for others. Returns a function that unlocks and removes it.
 *
 * It is a lock of the kernel (`fcntl`), through SQLite, because Node.js has no function for it. It ends with the process in
 * any case, and a process that is only delayed keeps it. If others could break it after some time, that process would
 * overwrite what they wrote. Throws the errors of the file system, and an Error after 8 s.
 */
export async function lockFile(path: string): Promise<() => void> {
  // SQLite does not report why it cannot open a file.
  await access(dirname(path), constants.W_OK);
  const deadline = performance.now() + waitMs;
  for (;;) {
    const release = tryLock(path);
    if (release !== undefined) return release;
    if (performance.now() > deadline) throw new Error('another process is editing it');
    await wait(pauseMs);
  }
}

function tryLock(path: string): (() => void) | undefined {
  const before = identity(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return undefined;
    throw error;
  }
  // Its last holder may have removed the file after it was opened here. Then another process can lock a new file.
  if (before === undefined || identity(path) !== before) {
    database.close();
    return undefined;
  }
  return () => {
    // Before the lock is released, so that the file of the next process is not removed.
    unlinkSync(path);
    database.close();
  };
}

/** Which file a path names; inode numbers alone repeat. */
function identity(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}
