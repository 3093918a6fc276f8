import { chmodSync, closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText } from '../../observe/error-text.ts';
import { recipientFile } from '../sealing.ts';
import { CommitCount } from './commit-count.ts';
import { lockHolder } from './lock-holder.ts';
import { StateTables, type Table, tables } from './state-tables.ts';

/** The file of a data folder that holds what an API server would keep. */
export const stateFile = 'state.sqlite';

/** Marks the file as ours ("mgst"), and says which of our formats it has. */
const applicationId = 0x6d677374;
const format = 1;
/** The row with the number of commits; `CommitCount` has the same number. */
const commitsSetting = 'commits';
/** How long a start waits for another process that is just ending. */
const busyMs = 1_000;

/** One row: `text` undefined deletes it. */
export interface StateChange {
  readonly table: Table;
  readonly id: string;
  readonly text: string | undefined;
}

/** The file cannot be used; the message says why and what to do. */
class StateFileError extends Error {
  override readonly name = 'StateFileError';
}

interface Waiting {
  readonly changes: readonly StateChange[];
  readonly done: PromiseWithResolvers<void>;
}

/**
 * The state of standalone mode: one SQLite file, which this process alone writes and others may read at the same time.
 *
 * Every transaction is followed by the next at once (`BEGIN IMMEDIATE`), so that this process always has SQLite's lock for
 * writing. The lock is the kernel's: of several starts only one gets it, and it ends with the process, however that ends. A
 * separate lock file can be removed under a running process, and files that name a process id outlive it.
 *
 * A write-ahead log, because readers then need not wait for the lock, and a commit forces one file to disk instead of
 * three. What is asked for in one turn of the event loop is one transaction: each costs one wait for the disk.
 */
export class StateFile extends StateTables {
  readonly #database: DatabaseSync;
  readonly #files: ReadonlyMap<string, number>;
  readonly #put = new Map<Table, StatementSync>();
  readonly #drop = new Map<Table, StatementSync>();
  readonly #waiting: Waiting[] = [];
  readonly #count: CommitCount;
  #commits: number;

  private constructor(database: DatabaseSync, path: string) {
    super(database);
    this.#database = database;
    this.#commits = Number(this.get('setting', commitsSetting) ?? 0);
    const countPath = `${path}-commits`;
    this.#count = new CommitCount(countPath);
    const { before = 0 } = this.#count;
    if (before > this.#commits) {
      this.#count.close();
      throw shortened(path, countPath, before - this.#commits);
    }
    this.#files = new Map([path, `${path}-wal`].map((file) => [file, statSync(file).ino]));
    for (const table of tables) {
      this.#put.set(table, database.prepare(`INSERT OR REPLACE INTO ${table} (id, value) VALUES (?, ?)`));
      this.#drop.set(table, database.prepare(`DELETE FROM ${table} WHERE id = ?`));
    }
  }

  /**
   * Makes the file if it is missing.
   * @throws StateFileError if another process has it, if it is damaged, has another format or cannot be written, and for a
   * folder of an older version
   */
  static open(folder: string): StateFile {
    refuseOlderLayout(folder);
    const path = join(folder, stateFile);
    // Asked before whether the file is empty: another process may be making it.
    const wasUsed = isUsed(folder) || !isEmpty(`${path}-wal`) || !isEmpty(`${path}-commits`);
    if (wasUsed && isEmpty(path)) throw lost(path);
    let database: DatabaseSync | undefined;
    try {
      // Only if it is missing: to close another handle of the file would end locks of this process. The files of the log
      // take over this mode.
      if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
      chmodSync(path, 0o600);
      database = new DatabaseSync(path, { timeout: busyMs });
      prepare(database, path, wasUsed);
      return new StateFile(database, path);
    } catch (error) {
      database?.close();
      throw error instanceof StateFileError ? error : unusable(folder, path, error);
    }
  }

  /** Settles when the changes are on disk, all or none. @throws SQLite's error, of a full disk for example */
  write(changes: readonly StateChange[]): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ changes, done });
    if (this.#waiting.length === 1) void nextTurn().then(() => this.#flush());
    return done.promise;
  }

  /** Writes what is waiting, and releases the file. */
  close(): void {
    this.#flush();
    this.#database.close();
    this.#count.close();
  }

  #flush(): void {
    const waiting = this.#waiting.splice(0);
    if (waiting.length === 0) return;
    try {
      this.#checkFiles();
      if (!this.#database.isTransaction) this.#database.exec('BEGIN IMMEDIATE');
      for (const { changes } of waiting) for (const change of changes) this.#apply(change);
      this.#apply({ table: 'setting', id: commitsSetting, text: `${this.#commits + 1}` });
      this.#database.exec('COMMIT');
      this.#commits += 1;
      this.#count.write(this.#commits);
      for (const { done } of waiting) done.resolve();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      for (const { done } of waiting) done.reject(error);
    }
    try {
      this.#database.exec('BEGIN IMMEDIATE');
    } catch {
      // Another process was faster between the two transactions; the next write tries again, and fails if it cannot.
    }
  }

  /** @throws StateFileError if the files were removed or replaced: what is written now would be in no file, and a key that is revoked would come back */
  #checkFiles(): void {
    for (const [file, inode] of this.#files) {
      if (statSync(file, { throwIfNoEntry: false })?.ino === inode) continue;
      throw new StateFileError(
        `The file ${file} was removed or replaced while the process uses it, so nothing is stored any more; stop the process, restore the data folder, and start it again`,
      );
    }
  }

  #apply({ table, id, text }: StateChange): void {
    if (text === undefined) this.#drop.get(table)?.run(id);
    else this.#put.get(table)?.run(id, text);
  }
}

/** Checks the file, takes the lock, and makes the tables if there are none. */
function prepare(database: DatabaseSync, path: string, wasUsed: boolean): void {
  const pragma = (name: string): string | number | undefined => {
    const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, string | number> | undefined;
    return Object.values(row ?? {})[0];
  };
  const isNew = () => pragma('schema_version') === 0;
  if (isNew() && wasUsed) throw lost(path);
  if (!isNew() && pragma('application_id') !== applicationId)
    throw new StateFileError(
      `The file ${path} is not a state file of model-gateway; move it away, or name another folder with --data`,
    );
  const found = pragma('user_version');
  if (!isNew() && found !== format)
    throw new StateFileError(
      `The file ${path} has format ${found}, and this version of the program knows format ${format} alone; start the version that wrote it, or name another folder with --data`,
    );
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON');
  database.exec('BEGIN IMMEDIATE');
  if (isNew()) {
    const make = tables.map(
      (table) =>
        `CREATE TABLE ${table} (id TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
    );
    database.exec(
      `${make.join(' ')} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${format}; COMMIT`,
    );
    // The tables are in the file itself from now on: without its log it is never taken for a new one.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE); BEGIN IMMEDIATE');
  }
  const check = pragma('quick_check(1)');
  if (check !== 'ok') throw damaged(path, String(check).replace(/^\*.*\n/, ''));
  // From now on requests are served, and waiting would stop them.
  database.exec('PRAGMA busy_timeout = 0');
}

const codes = { busy: 5, corrupt: 11, notADatabase: 26 };

function unusable(folder: string, path: string, error: unknown): StateFileError {
  // The lowest byte is the code; the others add details.
  const found = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  const code = typeof found === 'number' ? found & 0xff : undefined;
  if (code === codes.busy) {
    const holder = lockHolder(`${path}-shm`);
    const who = holder === undefined ? 'Another process' : `Another process (${holder})`;
    return new StateFileError(
      `${who} uses the data folder ${folder}; stop it, or name another folder with --data`,
    );
  }
  if (code === codes.corrupt || code === codes.notADatabase) return damaged(path, errorText(error), error);
  return new StateFileError(
    `The file ${path} cannot be used (${errorText(error)}); check its permissions and the space on its disk, or name another folder with --data`,
    { cause: error },
  );
}

function damaged(path: string, reason: string, cause?: unknown): StateFileError {
  return new StateFileError(
    `The file ${path} is damaged (${reason}); restore the data folder from a backup, or remove this file, those beside it that begin with its name, and ${recipientFile}: keys made through /v1/keys, generated keys and the sealing key are then lost`,
    { cause },
  );
}

function shortened(path: string, countPath: string, commits: number): StateFileError {
  return new StateFileError(
    `The file ${path} lacks the last ${commits} ${commits === 1 ? 'change' : 'changes'} that were stored: its log ${path}-wal was removed or cut, or an older copy of the file was put in its place; restore all files of the data folder from one backup. To go on with the older state, remove ${countPath}: keys that were made since are then lost, and keys that were revoked since may be accepted again`,
  );
}

function lost(path: string): StateFileError {
  return new StateFileError(
    `The file ${path} is missing or empty, although the data folder was used before; restore the data folder from a backup, or remove ${recipientFile} and what begins with the file's name from it: keys made through /v1/keys, generated keys and the sealing key are then lost`,
  );
}

/** Whether the program has used this data folder before: at each start it writes the public half of the sealing key there. */
function isUsed(folder: string): boolean {
  return existsSync(join(folder, recipientFile));
}

/** Whether a file is missing or has no bytes. */
function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Versions before the single file kept a file for each key. To begin without these would revoke them. */
function refuseOlderLayout(folder: string): void {
  const found = ['keys', 'secrets', 'state'].filter((name) => holdsFiles(join(folder, name)));
  if (found.length === 0) return;
  throw new StateFileError(
    `The data folder ${folder} was written by an older version of model-gateway (it holds files in ${found.join(', ')}), and this version cannot read them; start that version, or name another folder with --data. If you remove these folders instead, keys made through /v1/keys, generated keys and the sealing key are lost`,
  );
}

function holdsFiles(folder: string): boolean {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
  } catch {
    // There is no such folder, or it is none.
    return false;
  }
}
