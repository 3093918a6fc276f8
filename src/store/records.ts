import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { Log } from '../observe/log.ts';
import type { DataFolder } from './data-folder.ts';
import type { Kind, ResourceOf } from './store.ts';

type Status = NonNullable<ResourceOf[Kind]['status']>;

/** What an API server would keep beside the manifest of an object. */
export interface ResourceRecord {
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly generation: number;
  /** Tells whether the spec changed since; see `specMark`. */
  readonly specMark: string;
  /** As text until it was read back: as objects those of 100,000 keys would take three times the memory at start. */
  readonly status?: Status | string | undefined;
}

const fileSchema = z.object({
  version: z.literal(1),
  resources: z.record(
    z.string(),
    z.object({
      uid: z.string(),
      creationTimestamp: z.string(),
      generation: z.int(),
      specMark: z.string(),
      // JSON in a text; read back by `parseStored` together with the rest of the object.
      status: z.string().optional(),
    }),
  ),
});

/** A short text that differs when the spec does. */
export function specMark(spec: unknown): string {
  return hash('sha1', JSON.stringify(spec), 'base64').slice(0, 16);
}

/** Time between a change and its writing, so that a burst of changes becomes one write of each file. */
const gatherMs = 200;
const retryMs = 2_000;

/**
 * The records of all resources, by `Kind/namespace/name`, in 256 files of which a change rewrites one: a file for each
 * would take minutes at the first start with 100,000 keys, a single one too long at each change.
 */
export class Records {
  readonly #folder: DataFolder;
  readonly #log: Log;
  readonly #shards = new Map<string, Map<string, ResourceRecord>>();
  readonly #changed = new Set<string>();
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(folder: DataFolder, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Reads the records. A file that is not ours is left alone, logged, and overwritten when its records change. */
  static async load(folder: DataFolder, log: Log): Promise<Records> {
    const records = new Records(folder, log);
    for (const path of await folder.list('state')) {
      const text = await folder.read(path);
      const parsed = fileSchema.safeParse(parseJson(text ?? ''));
      if (!parsed.success) {
        log.error(
          { file: folder.path(path) },
          'A file of the data folder is damaged; what it held is made anew',
        );
        continue;
      }
      for (const [id, record] of Object.entries(parsed.data.resources)) {
        records.#shard(id).set(id, record as ResourceRecord);
      }
    }
    return records;
  }

  get(id: string): ResourceRecord | undefined {
    return this.#shards.get(shardOf(id))?.get(id);
  }

  *ids(): Iterable<string> {
    for (const shard of this.#shards.values()) yield* shard.keys();
  }

  set(id: string, record: ResourceRecord): void {
    this.#shard(id).set(id, record);
    this.#note(id);
  }

  /** Takes another object for the same status, so that only one of the two stays in memory. Nothing is written. */
  adoptStatus(id: string, status: Status): void {
    const record = this.get(id);
    if (record !== undefined) this.#shard(id).set(id, { ...record, status });
  }

  delete(id: string): void {
    if (this.#shard(id).delete(id)) this.#note(id);
  }

  /** Settles when every change made so far is on disk, whatever is changed meanwhile. @throws the file system's error */
  async saved(): Promise<void> {
    // A writing that has begun may be past the change; one that begins after it is not.
    if (this.#writing !== undefined) await this.#writing.catch(() => {});
    if (this.#writing !== undefined || this.#changed.size > 0) await this.#write();
  }

  /** Writes what is left; later changes are not written any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.saved();
  }

  #shard(id: string): Map<string, ResourceRecord> {
    const name = shardOf(id);
    const shard = this.#shards.get(name) ?? new Map<string, ResourceRecord>();
    this.#shards.set(name, shard);
    return shard;
  }

  #note(id: string): void {
    this.#changed.add(shardOf(id));
    this.#later(gatherMs);
  }

  #later(ms: number): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#write().catch((error: unknown) => {
        this.#log.error(
          { err: error, folder: this.#folder.path() },
          'The data folder cannot be written; trying again',
        );
        this.#later(retryMs);
      });
    }, ms);
  }

  /** One writing at a time; who comes in between waits for it and looks again. */
  async #write(): Promise<void> {
    if (this.#writing !== undefined) return this.#writing;
    this.#writing = this.#writeChanged().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeChanged(): Promise<void> {
    for (const name of [...this.#changed]) {
      this.#changed.delete(name);
      const shard = this.#shards.get(name);
      const path = `state/${name}.json`;
      try {
        if (shard === undefined || shard.size === 0) await this.#folder.remove(path);
        else await this.#folder.write(path, `${textOf(shard)}\n`);
      } catch (error) {
        this.#changed.add(name);
        throw error;
      }
    }
  }
}

function textOf(shard: Map<string, ResourceRecord>): string {
  const resources: Record<string, ResourceRecord> = {};
  for (const [id, record] of shard) {
    const { status } = record;
    resources[id] = typeof status === 'object' ? { ...record, status: JSON.stringify(status) } : record;
  }
  return JSON.stringify({ version: 1, resources });
}

function shardOf(id: string): string {
  return (crc32(id) % 256).toString(16).padStart(2, '0');
}

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
