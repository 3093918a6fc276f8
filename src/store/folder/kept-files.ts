import type { Log } from '../../observe/log.ts';
import type { Kind, ResourceOf } from '../store.ts';
import { reportKeptFile } from './declaration-reports.ts';
import type { Manifests } from './manifests.ts';
import type { Breathe } from './piece.ts';
import type { Records } from './records.ts';
import { recordedObject } from './resource-record.ts';

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

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** For the start alone: later, what is not in force was removed. */
  async begin(breathe: Breathe): Promise<void> {
    const { log, manifests, records, show } = this.#parts;
    if (manifests.sound) return;
    const counts = new Map<string, number>();
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
      const object = recordedObject(id, former);
      if (object === undefined) continue;
      show(id, object, file);
      this.#files.set(id, file);
      counts.set(file, (counts.get(file) ?? 0) + 1);
    }
    for (const [file, count] of counts) reportKeptFile(log, file, count);
  }

  /** Lets go of the objects whose file can be read now. @returns their ids; what the file says of them counts again */
  release(): string[] {
    const ids = [...this.#files].flatMap(([id, file]) =>
      this.#parts.manifests.isUnreadable(file) ? [] : [id],
    );
    for (const id of ids) this.#files.delete(id);
    return ids;
  }
}
