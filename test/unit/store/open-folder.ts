import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { createLog } from '../../../src/observe/log.ts';
import { type DirectoryStore, openDirectoryStore } from '../../../src/store/folder/directory.ts';
import { stateFile } from '../../../src/store/folder/state-file.ts';
import { StateTables, type Table } from '../../../src/store/folder/state-tables.ts';

/** A folder of manifests and a data folder, in a temporary place that `remove` takes away. */
export class Folders {
  readonly root = mkdtempSync(join(tmpdir(), 'store-'));
  readonly manifests = join(this.root, 'manifests');
  readonly data = join(this.root, 'data');
  readonly #stops: (() => Promise<void>)[] = [];

  constructor(files: Record<string, string> = {}) {
    mkdirSync(this.manifests);
    for (const [file, text] of Object.entries(files)) this.write(file, text);
  }

  write(file: string, text: string): void {
    const path = join(this.manifests, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Opens the store; `log` collects its records. */
  async open(
    log: Record<string, unknown>[] = [],
  ): Promise<{ store: DirectoryStore; close: () => Promise<void> }> {
    const stop = new AbortController();
    const store = await openDirectoryStore({
      manifests: this.manifests,
      data: this.data,
      homeNamespace: 'default',
      log: createLog({
        level: 'debug',
        format: 'json',
        role: 'test',
        destination: { write: (line) => void log.push(JSON.parse(line)) },
      }),
      now: () => Date.now(),
      randomBytes,
      signal: stop.signal,
      quietMs: 20,
    });
    const close = async () => {
      stop.abort();
      await store.closed;
    };
    this.#stops.push(close);
    return { store, close };
  }

  async remove(): Promise<void> {
    for (const stop of this.#stops) await stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** What the state file of a data folder holds. */
export function readState(data: string): StateTables {
  return new StateTables(new DatabaseSync(join(data, stateFile), { readOnly: true }));
}

/** Whether the state file holds a row. */
export function holdsRow(data: string, table: Table, id: string): boolean {
  return readState(data).get(table, id) !== undefined;
}

/** Changes a state file as a person with an SQLite program does. */
export function changeState(data: string, sql: string): void {
  const database = new DatabaseSync(join(data, stateFile), { timeout: 2_000 });
  database.exec(sql);
  database.close();
}

/** Waits until something holds, for two seconds at most. @returns after how many milliseconds it did */
export async function until(holds: () => boolean, what: string): Promise<number> {
  const start = performance.now();
  while (!holds()) {
    if (performance.now() - start > 2_000) throw new Error(`Still not so after 2 s: ${what}`);
    await wait(5);
  }
  return performance.now() - start;
}

export const nodeYaml = (name: string, spec = 'manualModels: [m]', namespace = 'default') => `
apiVersion: modelgateway.dev/v1alpha1
kind: UpstreamNode
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  baseURL: http://127.0.0.1:1/v1
  ${spec}
`;

export const keyYaml = (name: string, hash: string, spec = '') => `
apiVersion: modelgateway.dev/v1alpha1
kind: APIKey
metadata:
  name: ${name}
spec:
  hash: ${hash}
  ${spec}
`;
