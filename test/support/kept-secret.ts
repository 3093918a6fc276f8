import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * The entries of a Secret that standalone mode keeps in its data folder, read while it runs; undefined if there is none, or
 * no state file yet.
 */
export function keptSecret(
  data: string,
  name: string,
  namespace = 'default',
): Record<string, string> | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(data, 'state.sqlite'), { readOnly: true, timeout: 2_000 });
    const row = database.prepare('SELECT value FROM secret WHERE id = ?').get(`${namespace}/${name}`);
    if (row === undefined) return undefined;
    const { data: entries } = JSON.parse(String(row['value'])) as { data: Record<string, string> };
    return Object.fromEntries(
      Object.entries(entries).map(([entry, value]) => [entry, Buffer.from(value, 'base64').toString()]),
    );
  } catch {
    return undefined;
  } finally {
    database?.close();
  }
}
