import type { ApiKey } from '../../resources/api-key.ts';
import { StoreError } from '../store.ts';
import type { DamagedRows } from './damaged-rows.ts';
import type { StateFile } from './state-file.ts';
import { fromStoredText } from './stored-text.ts';

/** The keys that were made through the keys API rather than declared. */
export class MadeKeys {
  readonly #state: StateFile;
  readonly #damaged: DamagedRows;
  /** `namespace/name` of each. */
  readonly #names = new Set<string>();

  constructor(state: StateFile, damaged: DamagedRows) {
    this.#state = state;
    this.#damaged = damaged;
  }

  has(namespace: string, name: string): boolean {
    return this.#names.has(`${namespace}/${name}`);
  }

  /** Reads all of them but those that are damaged. */
  *load(): Iterable<ApiKey> {
    for (const [id, text] of this.#state.all('made_key')) {
      const key = fromStoredText('APIKey', text);
      if (key === undefined) {
        this.#damaged.add('made_key', id);
        continue;
      }
      this.#names.add(id);
      yield key;
    }
  }

  /** Settles with the key as it will be read back, once it is on disk. @throws StoreError */
  async write(key: ApiKey): Promise<ApiKey> {
    const id = `${key.metadata.namespace}/${key.metadata.name}`;
    const text = JSON.stringify(key);
    const written = fromStoredText('APIKey', text);
    if (written === undefined) throw new StoreError('Invalid', `The APIKey ${id} is not valid.`);
    // Reserved before it is written, so that only one of two writers gets the name.
    this.#names.add(id);
    try {
      await this.#state.write([{ table: 'made_key', id, text }]);
    } catch (cause) {
      this.#names.delete(id);
      throw new StoreError('Unavailable', 'The key could not be written to the data folder.', { cause });
    }
    return written;
  }

  /** Settles when the key was deleted from disk. @throws StoreError */
  async remove(namespace: string, name: string): Promise<void> {
    const id = `${namespace}/${name}`;
    try {
      await this.#state.write([{ table: 'made_key', id, text: undefined }]);
    } catch (cause) {
      throw new StoreError('Unavailable', 'The key could not be removed from the data folder.', { cause });
    }
    this.#names.delete(id);
  }
}
