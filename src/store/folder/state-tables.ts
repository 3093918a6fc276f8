import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * `record`: what is known of each object, by `Kind/namespace/name`. `made_key`: APIKeys made through the keys API, by
 * `namespace/name`. `secret`: generated Secrets, by `namespace/name`. `setting`: what exists once, by its name.
 */
export const tables = ['record', 'made_key', 'secret', 'setting'] as const;
export type Table = (typeof tables)[number];

type Row = Record<'id' | 'value', string>;

/** Reads the tables of a state file, as they are on disk at the moment of each call. */
export class StateTables {
  readonly #reads: ReadonlyMap<Table, { get: StatementSync; all: StatementSync }>;
  readonly #version: StatementSync;

  constructor(database: DatabaseSync) {
    this.#reads = new Map(
      tables.map((table) => [
        table,
        {
          get: database.prepare(`SELECT value FROM ${table} WHERE id = ?`),
          all: database.prepare(`SELECT id, value FROM ${table}`),
        },
      ]),
    );
    this.#version = database.prepare('PRAGMA data_version');
  }

  get(table: Table, id: string): string | undefined {
    return (this.#reads.get(table)?.get.get(id) as Row | undefined)?.value;
  }

  /** Every row, by its id. */
  all(table: Table): Map<string, string> {
    const rows = (this.#reads.get(table)?.all.all() ?? []) as Row[];
    return new Map(rows.map(({ id, value }) => [id, value]));
  }

  /** Differs from that of the last call if another process or thread has written since. */
  version(): number {
    return (this.#version.get() as { data_version: number }).data_version;
  }
}
