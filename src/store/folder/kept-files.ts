import type { Log } from '../../observe/log.ts';
import type { Kind, ResourceOf } from '../store.ts';
import { reportKeptFile } from './declaration-reports.ts';
import type { Manifests } from './manifests.ts';
import type { Breathe } from './piece.ts';
import type { Records } from './records.ts';
import { type ResourceRecord, recordedObject } from './resource-record.ts';

interface Parts {
  readonly manifests: Manifests;
  readonly records: Records;
  readonly log: Log;
  /** Puts an object of the last run into force. */
  readonly show: (id: string, object: ResourceOf[Kind], file: string) => void;
}

/** Objects of files that could not be read at the start: as the last run left them, they stay in force. */
export class KeptFiles {
  readonly #parts: Parts;
  readonly #files = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The unreadable file whose last good version of an object is in force. */
  fileOf(id: string): string | undefined {
    return this.#files.get(id);
  }

  /** From now on the object is in force by a declaration of another file. */
  forget(id: string): void {
    this.#files.delete(id);
  }

  /**
   * At the start, for an object that `first` declares: if the last run had it from a file that cannot be read now and that
   * comes before, that version stays in force. Of a name that is declared twice the first is in force, broken or not.
   */
  keepBefore(id: string, first: string): void {
    const { manifests, records } = this.#parts;
    const former = records.former(id);
    const file = former?.file;
    if (former === undefined || file === undefined || file >= first || !manifests.isUnreadable(file)) return;
    this.#keep(id, former, file);
  }

  /** For the start alone: later, what is not in force was removed. */
  async begin(breathe: Breathe): Promise<void> {
    const { log, manifests, records } = this.#parts;
    if (manifests.sound) return;
    for (const id of records.formerIds()) {
      await breathe();
      const former = records.former(id);
      const file = former?.file;
      if (
        former === undefined ||
        file === undefined ||
        !manifests.isUnreadable(file) ||
        manifests.of(id).length > 0
      )
        continue;
      this.#keep(id, former, file);
    }
    for (const [file, count] of this.#counts) reportKeptFile(log, file, count);
  }

  /** Lets go of the objects whose file can be read now. @returns their ids; what the file says of them counts again */
  release(): string[] {
    const ids = [...this.#files].flatMap(([id, file]) =>
      this.#parts.manifests.isUnreadable(file) ? [] : [id],
    );
    for (const id of ids) this.#files.delete(id);
    return ids;
  }

  #keep(id: string, former: ResourceRecord, file: string): void {
    const object = recordedObject(id, former);
    if (object === undefined) return;
    this.#parts.show(id, object, file);
    this.#files.set(id, file);
    this.#counts.set(file, (this.#counts.get(file) ?? 0) + 1);
  }
}
