import type { Log } from '../../observe/log.ts';
import { FaultLog } from './fault-log.ts';
import { type ResourceRecord, readRecord } from './resource-record.ts';
import type { StateFile } from './state-file.ts';

/** How long changes are collected for one transaction. What must be on disk before an answer is not: `saved`. */
const collectMs = 200;
const retryMs = 2_000;
/** Most records of one transaction: it stops the event loop. */
const batchSize = 100;

/** The records of all resources, by `Kind/namespace/name`, written a moment after they change. */
export class Records {
  readonly #state: StateFile;
  readonly #log: Log;
  readonly #faults: FaultLog;
  readonly #recordOf: (id: string) => ResourceRecord | undefined;
  /** Objects in force by id, with the manifest file of each: their records are made of them when they are written. */
  readonly #inForce = new Map<string, string | undefined>();
  /** Ids whose record on disk is not that of now, with the number of their last change. */
  readonly #unwritten = new Map<string, number>();
  #changes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #closed = false;

  /** `recordOf`: the record of an object in force, undefined when there is no such object. */
  constructor(state: StateFile, log: Log, recordOf: (id: string) => ResourceRecord | undefined) {
    this.#state = state;
    this.#log = log;
    this.#faults = new FaultLog(log, {
      begins: 'The data folder cannot be written; trying again',
      ends: 'The data folder can be written again',
    });
    this.#recordOf = recordOf;
  }

  /** What the last run knew of an object that is not in force yet. One that is damaged is logged. */
  former(id: string): ResourceRecord | undefined {
    if (!this.#isFormer(id)) return undefined;
    const text = this.#state.get('record', id);
    if (text === undefined) return undefined;
    const record = readRecord(text);
    if (record === undefined)
      this.#log.error({ object: id }, 'A stored record is damaged; what it held is made again');
    return record;
  }

  /** Ids of all objects of the last run that are not in force. */
  formerIds(): string[] {
    return [...this.#state.all('record').keys()].filter((id) => this.#isFormer(id));
  }

  /** Takes that an object is in force by a manifest file, and whether its record differs from that on disk. */
  set(id: string, file: string | undefined, hasChanged: boolean): void {
    const hasMoved = this.#inForce.has(id) && this.#inForce.get(id) !== file;
    this.#inForce.set(id, file);
    if (hasChanged || hasMoved) this.#note(id);
  }

  /** The manifest file that an object in force came from. */
  fileOf(id: string): string | undefined {
    return this.#inForce.get(id);
  }

  delete(id: string): void {
    this.#inForce.delete(id);
    this.#note(id);
  }

  /** Settles when every change of this object made so far is on disk. @throws SQLite's error */
  async saved(id: string): Promise<void> {
    if (this.#unwritten.has(id)) await this.#write([id]);
  }

  /** Writes what is left; later changes are not written any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writing?.catch(() => {});
    await this.#writeAll();
  }

  #isFormer(id: string): boolean {
    return !this.#inForce.has(id) && !this.#unwritten.has(id);
  }

  #note(id: string): void {
    this.#changes += 1;
    this.#unwritten.set(id, this.#changes);
    this.#later(collectMs);
  }

  #later(ms: number): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#writeAll().then(
        () => {
          this.#faults.worked();
          this.#timer = undefined;
          if (this.#unwritten.size > 0) this.#later(collectMs);
        },
        (error: unknown) => {
          this.#faults.failed(error);
          this.#timer = undefined;
          this.#later(retryMs);
        },
      );
    }, ms);
  }

  /** One transaction after the other: requests get their turns between them. */
  async #writeAll(): Promise<void> {
    const ids = [...this.#unwritten.keys()];
    for (let at = 0; at < ids.length; at += batchSize) await this.#write(ids.slice(at, at + batchSize));
  }

  async #write(ids: readonly string[]): Promise<void> {
    const written = ids.map((id) => [id, this.#unwritten.get(id)] as const);
    await this.#state.write(ids.map((id) => ({ table: 'record', id, text: this.#textOf(id) })));
    for (const [id, change] of written) if (this.#unwritten.get(id) === change) this.#unwritten.delete(id);
  }

  #textOf(id: string): string | undefined {
    const record = this.#inForce.has(id) ? this.#recordOf(id) : undefined;
    return record && JSON.stringify({ ...record, file: this.#inForce.get(id) });
  }
}
