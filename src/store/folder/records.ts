import type { Log } from '../../observe/log.ts';
import type { Kind, ResourceOf } from '../store.ts';
import type { DamagedRows } from './damaged-rows.ts';
import { FaultLog } from './fault-log.ts';
import { type ResourceRecord, readRecord, recordOf } from './resource-record.ts';
import type { StateFile } from './state-file.ts';

/** How long changes of statuses are collected for one transaction. */
const collectMs = 200;
const retryMs = 2_000;
/** Most records of one transaction: it stops the event loop. */
const batchSize = 100;

/** An object and the manifest file that declares it; undefined for a key that was made through the keys API. */
export interface Sourced {
  readonly resource: ResourceOf[Kind];
  readonly file: string | undefined;
}

/**
 * The records of all objects, by `Kind/namespace/name`. A declaration is written before it comes into force (`write`), so
 * that after a crash no start brings back what it replaced. A status is written a moment after it changed (`note`).
 */
export class Records {
  readonly #state: StateFile;
  readonly #damaged: DamagedRows;
  readonly #faults: FaultLog;
  readonly #inForce = new Map<string, Sourced>();
  /** Objects whose row is older than the object, with the number of the last change. */
  readonly #unwritten = new Map<string, number>();
  #changes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(state: StateFile, log: Log, damaged: DamagedRows) {
    this.#state = state;
    this.#damaged = damaged;
    this.#faults = new FaultLog(log, {
      begins: 'The data folder cannot be written; trying again',
      ends: 'The data folder can be written again',
    });
  }

  /** What the last run stored about an object that is not in force yet. */
  former(id: string): ResourceRecord | undefined {
    if (!this.#isFormer(id)) return undefined;
    const text = this.#state.get('record', id);
    if (text === undefined) return undefined;
    const record = readRecord(text);
    if (record === undefined) this.#damaged.add('record', id);
    return record;
  }

  /** Ids of all objects of the last run that are not in force. */
  formerIds(): string[] {
    return [...this.#state.all('record').keys()].filter((id) => this.#isFormer(id));
  }

  /**
   * Writes objects that are about to come into force; `next` is undefined for one that is about to be deleted. Never
   * rejects: a key must be revoked although the disk is full, so the caller goes on, and the write is tried again.
   */
  async write(
    changes: readonly { readonly id: string; readonly next: Sourced | undefined }[],
  ): Promise<void> {
    if (changes.length === 0) return;
    // Otherwise the timer could write the older object over it.
    for (const { id } of changes) this.#unwritten.delete(id);
    try {
      await this.#state.write(changes.map(({ id, next }) => ({ table: 'record', id, text: textOf(next) })));
    } catch (error) {
      this.#faults.failed(error);
      for (const { id } of changes) this.note(id);
    }
  }

  /** Takes that an object is in force. */
  set(id: string, object: Sourced): void {
    this.#inForce.set(id, object);
  }

  /** Takes that an object was deleted. */
  delete(id: string): void {
    this.#inForce.delete(id);
  }

  /** The manifest file that an object in force came from. */
  fileOf(id: string): string | undefined {
    return this.#inForce.get(id)?.file;
  }

  /** Notes that the row of an object is not that of now. */
  note(id: string): void {
    this.#changes += 1;
    this.#unwritten.set(id, this.#changes);
    this.#later(collectMs);
  }

  /** Settles when every change of this object noted so far is on disk. @throws SQLite's error */
  async saved(id: string): Promise<void> {
    if (this.#unwritten.has(id)) await this.#writeNoted([id]);
  }

  /** Writes what is left. Later changes are not written. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writing?.catch(() => {});
    await this.#writeAll();
  }

  #isFormer(id: string): boolean {
    return !this.#inForce.has(id) && !this.#unwritten.has(id);
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

  /** One transaction after the other, so that requests are served between them. */
  async #writeAll(): Promise<void> {
    const ids = [...this.#unwritten.keys()];
    for (let at = 0; at < ids.length; at += batchSize) await this.#writeNoted(ids.slice(at, at + batchSize));
  }

  async #writeNoted(ids: readonly string[]): Promise<void> {
    const written = ids.map((id) => [id, this.#unwritten.get(id)] as const);
    await this.#state.write(ids.map((id) => ({ table: 'record', id, text: textOf(this.#inForce.get(id)) })));
    for (const [id, change] of written) if (this.#unwritten.get(id) === change) this.#unwritten.delete(id);
  }
}

function textOf(object: Sourced | undefined): string | undefined {
  if (object === undefined) return undefined;
  const { resource, file } = object;
  const { spec, ...record } = recordOf(resource);
  // The spec of a key that was made through the keys API is in the key's own row.
  return JSON.stringify(file === undefined ? record : { ...record, spec, file });
}
