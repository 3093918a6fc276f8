import type { Log } from '../../observe/log.ts';
import { reportKeptFile } from './declaration-reports.ts';
import type { Breathe } from './declarations.ts';
import type { Manifests } from './manifests.ts';
import type { Records, Sourced } from './records.ts';
import { recordedObject } from './resource-record.ts';

interface Parts {
  readonly manifests: Manifests;
  readonly records: Records;
  readonly log: Log;
}

/** Objects of files that could not be read at the start: as the last run left them, they stay in force. */
export class KeptFiles {
  readonly #parts: Parts;
  readonly #files = new Map<string, string>();

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
  keepBefore(id: string, first: string): Sourced | undefined {
    return this.#keep(id, (file) => file < first);
  }

  /** At the start, for the objects that no manifest declares: later, what is not in force was deleted. */
  async begin(breathe: Breathe): Promise<[id: string, object: Sourced][]> {
    const { log, manifests, records } = this.#parts;
    const kept: [string, Sourced][] = [];
    for (const id of manifests.sound ? [] : records.formerIds()) {
      await breathe();
      const object = manifests.of(id).length > 0 ? undefined : this.#keep(id, () => true);
      if (object !== undefined) kept.push([id, object]);
    }
    const counts = Map.groupBy(this.#files.values(), (file) => file);
    for (const [file, { length }] of counts) reportKeptFile(log, file, length);
    return kept;
  }

  /** Forgets the objects whose file can be read now. @returns their ids; the file decides about them again */
  release(): string[] {
    const ids = [...this.#files].flatMap(([id, file]) =>
      this.#parts.manifests.isUnreadable(file) ? [] : [id],
    );
    for (const id of ids) this.#files.delete(id);
    return ids;
  }

  #keep(id: string, isMeant: (file: string) => boolean): Sourced | undefined {
    const { manifests, records } = this.#parts;
    const former = records.former(id);
    const file = former?.file;
    if (former === undefined || file === undefined || !manifests.isUnreadable(file) || !isMeant(file))
      return undefined;
    const resource = recordedObject(id, former);
    if (resource === undefined) return undefined;
    this.#files.set(id, file);
    return { resource, file };
  }
}
