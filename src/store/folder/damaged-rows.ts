import type { Log } from '../../observe/log.ts';
import type { FoundProblem } from './manifest-problems.ts';
import type { Table } from './state-tables.ts';

/** What the damage of one row costs, and what to do about it. */
const effects: Partial<Record<Table, { readonly cost: string; readonly remedy: string }>> = {
  record: {
    cost: 'its uid, creation time and status are made again, and the keys of a rotation that overlap are revoked',
    remedy: 'if that matters, restore the data folder from a backup',
  },
  made_key: {
    cost: 'callers with this key are refused',
    remedy: 'restore the data folder from a backup, or make another key',
  },
  secret: {
    cost: 'no other key is issued in its place',
    remedy:
      'restore the data folder from a backup, or stop the process and delete the row from the table "secret": another key is then issued',
  },
};

/**
 * The rows of the state file that could not be read at this start. Logged, and kept as problems so that commands, the
 * console and the metrics show them: a damaged row may revoke a key.
 */
export class DamagedRows {
  readonly #log: Log;
  readonly #file: string;
  readonly #problems = new Map<string, FoundProblem>();

  /** `file`: the state file, relative to the folder of manifests. */
  constructor(log: Log, file: string) {
    this.#log = log;
    this.#file = file;
  }

  /** Notes a damaged row. */
  add(table: Table, id: string): void {
    const object = table === 'record' ? id : `${table === 'secret' ? 'Secret' : 'APIKey'}/${id}`;
    const key = `${table} ${id}`;
    if (this.#problems.has(key)) return;
    const { cost = '', remedy = '' } = effects[table] ?? {};
    const reason = `is damaged in the state file (table "${table}"); ${cost}`;
    const problem = { file: this.#file, object, reason, remedy };
    this.#problems.set(key, { scope: 'object', ...problem });
    this.#log.error(problem, 'A row of the state file is damaged');
  }

  has(table: Table, id: string): boolean {
    return this.#problems.has(`${table} ${id}`);
  }

  problems(): Iterable<FoundProblem> {
    return this.#problems.values();
  }
}
