import { constants, statSync, unlinkSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';

/** How long others are waited for. */
const waitMs = 8_000;
const pauseMs = 20;
/** SQLite's result code for a file that another process has locked. */
const busy = 5;

/**
 * Takes the lock file `path` for this process alone, waiting for others at most 8 s. Returns a function that removes it.
 *
 * The lock is the kernel's (`fcntl`), by way of SQLite, because Node has none of its own: it ends with the process, however
 * that ends, and a process that is only held up keeps it. A lock that others may break after some time would let that
 * process write over what they wrote. Throws the file system's errors, and an Error if the wait was too short.
 */
export async function lockFile(path: string): Promise<() => void> {
  // SQLite would not say why it cannot open a file.
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
  // Its last holder may have removed the file after it was opened here: then another process can lock a new one.
  if (before === undefined || identity(path) !== before) {
    database.close();
    return undefined;
  }
  return () => {
    // While it is still held, so that it is this lock that goes and not that of the next process.
    unlinkSync(path);
    database.close();
  };
}

/** Which file a path names; inode numbers alone repeat. */
function identity(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}
