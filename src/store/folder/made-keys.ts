import type { Log } from '../../observe/log.ts';
import type { ApiKey } from '../../resources/api-key.ts';
import { StoreError } from '../store.ts';
import type { DataFolder } from './data-folder.ts';
import { fromStoredText } from './stored-text.ts';

/** The keys that were made through the keys API rather than declared, each in a file of its own. */
export class MadeKeys {
  readonly #folder: DataFolder;
  readonly #log: Log;
  /** `namespace/name` of each. */
  readonly #names = new Set<string>();

  constructor(folder: DataFolder, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  has(namespace: string, name: string): boolean {
    return this.#names.has(`${namespace}/${name}`);
  }

  /** Reads all of them. One that is damaged is logged and left out. */
  async *load(): AsyncGenerator<ApiKey> {
    for (const path of await this.#folder.list('keys')) {
      const key = fromStoredText('APIKey', await this.#folder.read(path));
      if (key === undefined) {
        this.#log.error({ file: this.#folder.path(path) }, 'A stored key is damaged; it is left out');
        continue;
      }
      this.#names.add(`${key.metadata.namespace}/${key.metadata.name}`);
      yield key;
    }
  }

  /** Settles with the key as it will be read back, once it is on disk. @throws StoreError */
  async write(key: ApiKey): Promise<ApiKey> {
    const { namespace, name } = key.metadata;
    const text = JSON.stringify(key);
    const written = fromStoredText('APIKey', text);
    if (written === undefined)
      throw new StoreError('Invalid', `The APIKey ${namespace}/${name} is not valid.`);
    // Reserved before it is written: of two writers only one may get the name.
    this.#names.add(`${namespace}/${name}`);
    try {
      await this.#folder.write(pathOf(namespace, name), `${text}\n`);
    } catch (cause) {
      this.#names.delete(`${namespace}/${name}`);
      throw new StoreError('Unavailable', 'The key could not be written to the data folder.', { cause });
    }
    return written;
  }

  /** Settles when the key is gone from disk. @throws StoreError */
  async remove(namespace: string, name: string): Promise<void> {
    try {
      await this.#folder.remove(pathOf(namespace, name));
    } catch (cause) {
      throw new StoreError('Unavailable', 'The key could not be removed from the data folder.', { cause });
    }
    this.#names.delete(`${namespace}/${name}`);
  }
}

function pathOf(namespace: string, name: string): string {
  return `keys/${namespace}/${name}`;
}
