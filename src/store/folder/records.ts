import { crc32 } from 'node:zlib';
import type { Log } from '../../observe/log.ts';
import type { DataFolder } from './data-folder.ts';
import { FaultLog } from './fault-log.ts';
import { type RecordFile, readRecord, readRecordFile, recordFileText } from './record-file.ts';
import type { ResourceRecord } from './resource-record.ts';

/** How long the folder must see no change before it is written, so that a burst becomes one write of each file. */
const quietMs = 200;
/** How long a burst may put off the writing. What must be on disk before an answer does not wait for it: `saved`. */
const burstMs = 5_000;
const retryMs = 2_000;

interface Shard {
  /** Objects in force by id, with the manifest file of each: their records are made of them when they are written. */
  readonly inForce: Map<string, string | undefined>;
  /** Records of the last run whose objects did not come back yet. */
  file: RecordFile | undefined;
  /** Whether its file was read, or is being read. */
  reading: Promise<void> | undefined;
}

export interface RecordsOptions {
  readonly folder: DataFolder;
  readonly log: Log;
  /** The record of an object in force, by `Kind/namespace/name`; undefined when there is no such object. */
  readonly recordOf: (id: string) => ResourceRecord | undefined;
}

/**
 * The records of all resources, by `Kind/namespace/name`, in 256 files of which a change rewrites one: a file for each
 * would take minutes at the first start with 100,000 keys, a single one too long at each change.
 */
export class Records {
  readonly #folder: DataFolder;
  readonly #log: Log;
  readonly #faults: FaultLog;
  readonly #recordOf: RecordsOptions['recordOf'];
  readonly #shards = new Map<string, Shard>();
  readonly #changed = new Set<string>();
  readonly #writing = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #firstChangeMs = 0;
  #lastChangeMs = 0;
  #closed = false;

  constructor({ folder, log, recordOf }: RecordsOptions) {
    this.#folder = folder;
    this.#log = log;
    this.#faults = new FaultLog(log, {
      begins: 'The data folder cannot be written; trying again',
      ends: 'The data folder can be written again',
    });
    this.#recordOf = recordOf;
  }

  /**
   * Must be called before an object is looked for or changed. A file that is damaged is logged, and overwritten later.
   * @throws RecordVersionError
   */
  async open(id: string): Promise<void> {
    await this.#opened(shardOf(id));
  }

  /** The same for all that the last run knew. */
  async openAll(): Promise<void> {
    for (let number = 0; number < shardCount; number += 1) {
      await this.#opened(nameOf(number));
    }
  }

  async #opened(name: string): Promise<void> {
    const shard = this.#shard(name);
    shard.reading ??= this.#read(name, shard).catch((error: unknown) => {
      shard.reading = undefined;
      throw error;
    });
    await shard.reading;
  }

  async #read(name: string, shard: Shard): Promise<void> {
    const text = await this.#folder.read(pathOf(name));
    if (text === undefined) return;
    const file = readRecordFile(text, this.#folder.path(pathOf(name)));
    if (file === undefined) this.#tellDamage(pathOf(name));
    else if (file.lines.size > 0) shard.file = file;
  }

  /** What the last run knew of an object that is not in force yet. */
  former(id: string): ResourceRecord | undefined {
    const name = shardOf(id);
    const file = this.#shards.get(name)?.file;
    const line = file?.lines.get(id);
    if (file === undefined || line === undefined) return undefined;
    const record = readRecord(line, file.conditions);
    if (record === undefined) this.#tellDamage(pathOf(name));
    return record;
  }

  /** Ids of objects in force and of those of the last run that did not come back. */
  *ids(): Iterable<string> {
    for (const { inForce, file } of this.#shards.values()) {
      yield* inForce.keys();
      if (file !== undefined) yield* file.lines.keys();
    }
  }

  /** What the last run knew of all objects that are not in force. Call `openAll` first. */
  *formers(): Iterable<readonly [id: string, record: ResourceRecord]> {
    for (const { file } of this.#shards.values()) {
      for (const id of [...(file?.lines.keys() ?? [])]) {
        const record = this.former(id);
        if (record !== undefined) yield [id, record];
      }
    }
  }

  /** Takes that an object is in force by a manifest file, and whether its record differs from that on disk. */
  set(id: string, file: string | undefined, hasChanged: boolean): void {
    const shard = this.#shard(shardOf(id));
    const hasMoved = shard.inForce.has(id) && shard.inForce.get(id) !== file;
    shard.inForce.set(id, file);
    this.#forgetFormer(shard, id);
    if (hasChanged || hasMoved) this.#note(id);
  }

  /** The manifest file that an object in force came from. */
  fileOf(id: string): string | undefined {
    return this.#shards.get(shardOf(id))?.inForce.get(id);
  }

  delete(id: string): void {
    const shard = this.#shard(shardOf(id));
    const wasInForce = shard.inForce.delete(id);
    if (this.#forgetFormer(shard, id) || wasInForce) this.#note(id);
  }

  /** Settles when every change of this object made so far is on disk. @throws the file system's error */
  async saved(id: string): Promise<void> {
    await this.#written(shardOf(id));
  }

  /** Writes what is left; later changes are not written any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writeAll();
  }

  #shard(name: string): Shard {
    const shard = this.#shards.get(name) ?? { inForce: new Map(), file: undefined, reading: undefined };
    this.#shards.set(name, shard);
    return shard;
  }

  #forgetFormer(shard: Shard, id: string): boolean {
    if (shard.file?.lines.delete(id) !== true) return false;
    // The lines are parts of the file's text, which goes with the last of them.
    if (shard.file.lines.size === 0) shard.file = undefined;
    return true;
  }

  #note(id: string): void {
    this.#lastChangeMs = performance.now();
    this.#changed.add(shardOf(id));
    if (this.#closed || this.#timer !== undefined) return;
    this.#firstChangeMs = this.#lastChangeMs;
    this.#later(quietMs);
  }

  #later(ms: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      const now = performance.now();
      const isBurst = now - this.#lastChangeMs < quietMs && now - this.#firstChangeMs < burstMs;
      if (isBurst) return this.#later(quietMs);
      this.#writeAll().then(
        () => {
          this.#timer = undefined;
          this.#faults.worked({ folder: this.#folder.path() });
          if (this.#changed.size === 0) return;
          this.#firstChangeMs = performance.now();
          this.#later(quietMs);
        },
        (error: unknown) => {
          this.#faults.failed(error, { folder: this.#folder.path() });
          this.#later(retryMs);
        },
      );
    }, ms);
  }

  /** One file after the other: the text of each takes milliseconds, and requests get their turn in between. */
  async #writeAll(): Promise<void> {
    for (const name of [...this.#changed]) await this.#written(name);
    await Promise.all(this.#writing.values());
  }

  /** Settles when every change of a file made so far is on disk. */
  async #written(name: string): Promise<void> {
    // A writing that has begun may be past the change; one that begins after it is not.
    await this.#writing.get(name)?.catch(() => {});
    await (this.#writing.get(name) ?? this.#writeIfChanged(name));
  }

  async #writeIfChanged(name: string): Promise<void> {
    if (!this.#changed.delete(name)) return;
    const writing = this.#write(name)
      .catch((error: unknown) => {
        this.#changed.add(name);
        throw error;
      })
      .finally(() => this.#writing.delete(name));
    this.#writing.set(name, writing);
    await writing;
  }

  async #write(name: string): Promise<void> {
    const records = this.#recordsOf(name);
    if (records.length === 0) await this.#folder.remove(pathOf(name));
    else await this.#folder.write(pathOf(name), recordFileText(records));
  }

  #recordsOf(name: string): [string, ResourceRecord][] {
    const shard = this.#shards.get(name);
    if (shard === undefined) return [];
    const ids = [...shard.inForce.keys(), ...(shard.file?.lines.keys() ?? [])];
    return ids.flatMap((id): [string, ResourceRecord][] => {
      if (!shard.inForce.has(id)) {
        const former = this.former(id);
        return former === undefined ? [] : [[id, former]];
      }
      const record = this.#recordOf(id);
      const file = shard.inForce.get(id);
      return record === undefined ? [] : [[id, file === undefined ? record : { ...record, file }]];
    });
  }

  #tellDamage(path: string): void {
    this.#log.error(
      { file: this.#folder.path(path) },
      'A file of the data folder is damaged; what it held is made anew',
    );
  }
}

const suffix = '.jsonl';

function pathOf(name: string): string {
  return `state/${name}${suffix}`;
}

const shardCount = 256;

function nameOf(number: number): string {
  return number.toString(16).padStart(2, '0');
}

function shardOf(id: string): string {
  return nameOf(crc32(id) % shardCount);
}

/** The file below the data folder that holds the record of an object, by `Kind/namespace/name`. */
export function recordPath(id: string): string {
  return pathOf(shardOf(id));
}

/**
 * Ids of objects in an order in which few files are looked into at a time: those of 100,000 objects, all held
 * until the last of them came back, would take 60 MB.
 */
export function inRecordOrder(ids: Iterable<string>): Iterable<string> {
  const shards = new Map<string, string[]>();
  for (const id of ids) {
    const name = shardOf(id);
    const shard = shards.get(name);
    if (shard === undefined) shards.set(name, [id]);
    else shard.push(id);
  }
  return [...shards.values()].flat();
}
