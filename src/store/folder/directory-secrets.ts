import { createHmac, randomUUID } from 'node:crypto';
import type { Log } from '../../observe/log.ts';
import { parseStored } from '../../resources/parse.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Content } from '../content.ts';
import { StoreError } from '../store.ts';
import type { DataFolder } from './data-folder.ts';
import { fromStoredText } from './stored-text.ts';

interface Stored {
  readonly owners: readonly string[];
  readonly version: string | undefined;
}

/**
 * The Secrets of standalone mode: those of manifests, kept in memory alone, and those that the controller makes, each
 * in a file of its own. Where both have a name, the stored one is in force.
 */
export class DirectorySecrets {
  readonly #folder: DataFolder;
  readonly #content: () => Content;
  readonly #log: Log;
  readonly #salt: Uint8Array;
  readonly #declared = new Map<string, Secret>();
  readonly #stored = new Map<string, Stored>();
  /** Ids of stored Secrets by the uid of each owner. */
  readonly #owned = new Map<string, Set<string>>();
  readonly #wanted = new Set<string>();
  readonly #writing = new Set<string>();
  readonly #reading = new Set<Promise<void>>();

  private constructor(folder: DataFolder, content: () => Content, log: Log, salt: Uint8Array) {
    this.#folder = folder;
    this.#content = content;
    this.#log = log;
    this.#salt = salt;
  }

  /** `content` is asked for when it is first needed, as it is made with `want` of this. */
  static async load(options: {
    folder: DataFolder;
    content: () => Content;
    log: Log;
    randomBytes: (size: number) => Uint8Array;
  }): Promise<DirectorySecrets> {
    const { folder, content, log, randomBytes } = options;
    let salt = await folder.read('salt');
    if (salt === undefined) {
      salt = Buffer.from(randomBytes(32)).toString('hex');
      await folder.write('salt', salt);
    }
    const secrets = new DirectorySecrets(folder, content, log, Buffer.from(salt, 'hex'));
    for (const path of await folder.list('secrets')) {
      const secret = fromStoredText('Secret', await folder.read(path));
      if (secret === undefined)
        log.error({ file: folder.path(path) }, 'A stored Secret is damaged; it is left out');
      else secrets.#note(secret);
    }
    return secrets;
  }

  /** Feeds a Secret that a node names into the content, now and at each change, until it is wanted no more. */
  want(namespace: string, name: string, wanted: boolean): void {
    const id = `${namespace}/${name}`;
    if (!wanted) {
      this.#wanted.delete(id);
      return;
    }
    this.#wanted.add(id);
    this.#feed(namespace, name);
  }

  /** Takes what the manifests declare. */
  declare(namespace: string, name: string, secret: Secret | undefined): void {
    const id = `${namespace}/${name}`;
    if (secret === undefined && !this.#declared.has(id)) return;
    if (secret === undefined) this.#declared.delete(id);
    else this.#declared.set(id, this.#versioned(secret));
    if (!this.#stored.has(id)) this.#feed(namespace, name);
  }

  isDeclared(namespace: string, name: string): boolean {
    return this.#declared.has(`${namespace}/${name}`);
  }

  isStored(namespace: string, name: string): boolean {
    return this.#stored.has(`${namespace}/${name}`);
  }

  async read(namespace: string, name: string): Promise<Secret | undefined> {
    const id = `${namespace}/${name}`;
    if (this.#stored.has(id)) {
      const secret = fromStoredText('Secret', await this.#folder.read(storedSecretPath(namespace, name)));
      if (secret !== undefined) return secret;
    }
    return this.#declared.get(id);
  }

  /** Settles when the Secret is on disk. @throws StoreError */
  async create(secret: Secret, creationTimestamp: string): Promise<Secret> {
    const { namespace, name } = secret.metadata;
    const id = `${namespace}/${name}`;
    if (this.#stored.has(id) || this.#declared.has(id)) {
      throw new StoreError('AlreadyExists', `The Secret ${id} exists already.`);
    }
    const created = checkedSecret({
      ...secret,
      metadata: { ...secret.metadata, uid: randomUUID(), resourceVersion: '1', creationTimestamp },
    });
    // Reserved before it is written: of two writers only one may get the name.
    this.#note(created);
    this.#writing.add(id);
    try {
      await this.#folder.write(storedSecretPath(namespace, name), textOf(created));
    } catch (error) {
      this.#unnote(id);
      throw unavailable(error);
    } finally {
      this.#writing.delete(id);
    }
    this.#content().setSecret(created);
    return created;
  }

  /** Settles when the Secret is on disk. @throws StoreError */
  async replace(secret: Secret): Promise<Secret> {
    const { namespace, name, resourceVersion } = secret.metadata;
    const id = `${namespace}/${name}`;
    if (!this.#stored.has(id) && this.#declared.has(id)) {
      throw new StoreError('Declared', `The Secret ${id} is declared by a manifest; change it there.`);
    }
    if (this.#writing.has(id)) throw new StoreError('Conflict', `The Secret ${id} is being changed.`);
    this.#writing.add(id);
    try {
      const current = fromStoredText('Secret', await this.#folder.read(storedSecretPath(namespace, name)));
      if (current === undefined) throw new StoreError('NotFound', `There is no Secret ${id}.`);
      const { uid, resourceVersion: version, creationTimestamp } = current.metadata;
      if ((secret.metadata.uid ?? uid) !== uid || resourceVersion !== version) {
        throw new StoreError('Conflict', `The Secret ${id} has changed since it was read.`);
      }
      const next = checkedSecret({
        ...secret,
        metadata: {
          ...secret.metadata,
          uid,
          creationTimestamp,
          resourceVersion: String(Number(version) + 1),
        },
      });
      await this.#folder.write(storedSecretPath(namespace, name), textOf(next));
      this.#note(next);
      this.#content().setSecret(next);
      return next;
    } catch (error) {
      throw error instanceof StoreError ? error : unavailable(error);
    } finally {
      this.#writing.delete(id);
    }
  }

  /** Removes the stored Secrets of an owner that is gone, as a cluster's garbage collector does. */
  async collect(owner: string, isAlive: (uid: string) => boolean): Promise<void> {
    for (const id of [...(this.#owned.get(owner) ?? [])]) {
      if (this.#stored.get(id)?.owners.some(isAlive) === true) continue;
      const [namespace = '', name = ''] = id.split('/');
      try {
        await this.#folder.remove(storedSecretPath(namespace, name));
      } catch (error) {
        this.#log.error({ err: error, secret: id }, 'A Secret whose owner is gone could not be removed');
        continue;
      }
      this.#forget(namespace, name);
    }
  }

  /** The uids of all owners of stored Secrets. */
  owners(): string[] {
    return [...this.#owned.keys()];
  }

  /** Compares with the files: a person may have removed one (which revokes its key), or put one back. */
  async look(): Promise<void> {
    const files = new Set(await this.#folder.list('secrets'));
    for (const id of [...this.#stored.keys()]) {
      const [namespace = '', name = ''] = id.split('/');
      const path = storedSecretPath(namespace, name);
      // One that is being created is known before its file is there, and may have come since the files were listed.
      if (files.has(path) || this.#writing.has(id) || (await this.#folder.read(path)) !== undefined) continue;
      if (!this.#writing.has(id)) this.#forget(namespace, name);
    }
    for (const path of files) {
      const [, namespace = '', name = ''] = path.split('/');
      const id = `${namespace}/${name}`;
      const known = this.#stored.get(id);
      if (known !== undefined && !this.#wanted.has(id)) continue;
      const secret = fromStoredText('Secret', await this.#folder.read(path));
      if (secret === undefined || idOf(secret) !== id) continue;
      if (known?.version === secret.metadata.resourceVersion) continue;
      this.#note(secret);
      this.#content().setSecret(secret);
    }
  }

  /** Settles when every Secret that was wanted is in the content. */
  async settled(): Promise<void> {
    while (this.#reading.size > 0) await Promise.all(this.#reading);
  }

  #note(secret: Secret): void {
    const id = idOf(secret);
    this.#unnote(id);
    const stored = storedOf(secret);
    this.#stored.set(id, stored);
    for (const owner of stored.owners) {
      const owned = this.#owned.get(owner) ?? new Set();
      owned.add(id);
      this.#owned.set(owner, owned);
    }
  }

  #unnote(id: string): void {
    for (const owner of this.#stored.get(id)?.owners ?? []) {
      const owned = this.#owned.get(owner);
      owned?.delete(id);
      if (owned?.size === 0) this.#owned.delete(owner);
    }
    this.#stored.delete(id);
  }

  #forget(namespace: string, name: string): void {
    this.#unnote(`${namespace}/${name}`);
    this.#feed(namespace, name);
  }

  #feed(namespace: string, name: string): void {
    const id = `${namespace}/${name}`;
    const declared = this.#declared.get(id);
    if (!this.#stored.has(id)) {
      if (declared === undefined) this.#content().removeSecret(namespace, name);
      else this.#content().setSecret(declared);
      return;
    }
    const reading = this.read(namespace, name)
      .then((secret) => {
        if (secret === undefined) this.#content().removeSecret(namespace, name);
        else this.#content().setSecret(secret);
      })
      .catch((error: unknown) =>
        this.#log.error({ err: error, secret: id }, 'A stored Secret could not be read'),
      )
      .finally(() => this.#reading.delete(reading));
    this.#reading.add(reading);
  }

  /** A version that changes with the data and survives a restart. Salted, because it is published in a status. */
  #versioned(secret: Secret): Secret {
    const data = Object.entries(secret.data).sort(([a], [b]) => (a < b ? -1 : 1));
    const resourceVersion = createHmac('sha256', this.#salt)
      .update(JSON.stringify(data))
      .digest('hex')
      .slice(0, 16);
    return { ...secret, metadata: { ...secret.metadata, resourceVersion } };
  }
}

/** Where a Secret that was made here is, below the data folder. */
export function storedSecretPath(namespace: string, name: string): string {
  return `secrets/${namespace}/${name}`;
}

function idOf(secret: Secret): string {
  return `${secret.metadata.namespace}/${secret.metadata.name}`;
}

function storedOf(secret: Secret): Stored {
  const owners = (secret.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  return { owners, version: secret.metadata.resourceVersion };
}

function textOf(secret: Secret): string {
  return `${JSON.stringify(secret)}\n`;
}

/** Names become paths, so nothing is written that the schema would not take back. */
function checkedSecret(secret: Secret): Secret {
  const parsed = parseStored(secret);
  if ('resource' in parsed && parsed.resource.kind === 'Secret') return parsed.resource;
  throw new StoreError('Invalid', 'The Secret is not valid.');
}

function unavailable(error: unknown): StoreError {
  return new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
}
