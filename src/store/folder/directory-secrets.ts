import { createHmac, randomUUID } from 'node:crypto';
import type { Log } from '../../observe/log.ts';
import { parseStored } from '../../resources/parse.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Content } from '../content.ts';
import { StoreError } from '../store.ts';
import type { StateFile } from './state-file.ts';
import { fromStoredText } from './stored-text.ts';

interface Stored {
  readonly owners: readonly string[];
  readonly version: string | undefined;
}

/**
 * The Secrets of standalone mode: those of manifests, kept in memory alone, and those that the controller makes, kept in
 * the state file alone. If both have a name, the stored one is in force.
 */
export class DirectorySecrets {
  readonly #state: StateFile;
  readonly #content: () => Content;
  readonly #log: Log;
  readonly #salt: Uint8Array;
  readonly #declared = new Map<string, Secret>();
  readonly #stored = new Map<string, Stored>();
  /** Ids of stored Secrets by the uid of each owner. */
  readonly #owned = new Map<string, Set<string>>();
  readonly #wanted = new Set<string>();
  readonly #writing = new Set<string>();

  /** `content` is called when it is first needed, because it is made with `want` of this. */
  constructor(options: {
    state: StateFile;
    content: () => Content;
    log: Log;
    /** Makes versions of Secrets that nobody can guess the data by. */
    salt: Uint8Array;
  }) {
    this.#state = options.state;
    this.#content = options.content;
    this.#log = options.log;
    this.#salt = options.salt;
    for (const [id, text] of this.#state.all('secret')) {
      const secret = fromStoredText('Secret', text);
      if (secret === undefined) this.#log.error({ secret: id }, 'A stored Secret is damaged; it is left out');
      else this.#note(secret);
    }
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

  read(namespace: string, name: string): Secret | undefined {
    const id = `${namespace}/${name}`;
    return this.#storedSecret(id) ?? this.#declared.get(id);
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
      await this.#write(id, created);
    } catch (error) {
      this.#unnote(id);
      throw unavailable(error);
    } finally {
      this.#writing.delete(id);
    }
    this.#content().setSecret(created);
    return created;
  }

  /** Changes the Secret of which `read` is a version. Settles when it is on disk. @throws StoreError */
  async replace(read: Secret, change: (current: Secret) => Secret): Promise<Secret> {
    const { namespace, name, resourceVersion } = read.metadata;
    const id = `${namespace}/${name}`;
    if (!this.#stored.has(id) && this.#declared.has(id)) {
      throw new StoreError('Declared', `The Secret ${id} is declared by a manifest; change it there.`);
    }
    if (this.#writing.has(id)) throw new StoreError('Conflict', `The Secret ${id} is being changed.`);
    this.#writing.add(id);
    try {
      const current = this.#storedSecret(id);
      if (current === undefined) throw new StoreError('NotFound', `There is no Secret ${id}.`);
      const { uid, resourceVersion: version } = current.metadata;
      if ((read.metadata.uid ?? uid) !== uid || resourceVersion !== version) {
        throw new StoreError('Conflict', `The Secret ${id} has changed since it was read.`);
      }
      const changed = change(current);
      const next = checkedSecret({
        ...changed,
        metadata: { ...changed.metadata, resourceVersion: String(Number(version) + 1) },
      });
      await this.#write(id, next);
      this.#note(next);
      this.#content().setSecret(next);
      return next;
    } catch (error) {
      throw error instanceof StoreError ? error : unavailable(error);
    } finally {
      this.#writing.delete(id);
    }
  }

  /** Removes the stored Secrets of an owner that was deleted, as a cluster's garbage collector does. */
  async collect(owner: string, isAlive: (uid: string) => boolean): Promise<void> {
    for (const id of [...(this.#owned.get(owner) ?? [])]) {
      if (this.#stored.get(id)?.owners.some(isAlive) === true) continue;
      try {
        await this.#write(id, undefined);
      } catch (error) {
        this.#log.error({ err: error, secret: id }, 'A Secret whose owner was deleted could not be removed');
        continue;
      }
      this.#forget(id);
    }
  }

  /** The uids of all owners of stored Secrets. */
  owners(): string[] {
    return [...this.#owned.keys()];
  }

  /** Compares with the state file: a person may have removed a Secret (which revokes its key), or put one back. */
  look(): void {
    const rows = this.#state.all('secret');
    for (const id of [...this.#stored.keys()]) {
      // One that is being created is known before it is on disk.
      if (!rows.has(id) && !this.#writing.has(id)) this.#forget(id);
    }
    for (const [id, text] of rows) {
      const secret = this.#writing.has(id) ? undefined : fromStoredText('Secret', text);
      if (secret === undefined || idOf(secret) !== id) continue;
      if (this.#stored.get(id)?.version === secret.metadata.resourceVersion) continue;
      this.#note(secret);
      this.#content().setSecret(secret);
    }
  }

  #storedSecret(id: string): Secret | undefined {
    return this.#stored.has(id) ? fromStoredText('Secret', this.#state.get('secret', id)) : undefined;
  }

  async #write(id: string, secret: Secret | undefined): Promise<void> {
    await this.#state.write([{ table: 'secret', id, text: secret && JSON.stringify(secret) }]);
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

  #forget(id: string): void {
    this.#unnote(id);
    const [namespace = '', name = ''] = id.split('/');
    this.#feed(namespace, name);
  }

  #feed(namespace: string, name: string): void {
    const secret = this.read(namespace, name);
    if (secret === undefined) this.#content().removeSecret(namespace, name);
    else this.#content().setSecret(secret);
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

function idOf(secret: Secret): string {
  return `${secret.metadata.namespace}/${secret.metadata.name}`;
}

function storedOf(secret: Secret): Stored {
  const owners = (secret.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  return { owners, version: secret.metadata.resourceVersion };
}

/** Nothing is written that the schema would not take back. */
function checkedSecret(secret: Secret): Secret {
  const parsed = parseStored(secret);
  if ('resource' in parsed && parsed.resource.kind === 'Secret') return parsed.resource;
  throw new StoreError('Invalid', 'The Secret is not valid.');
}

function unavailable(error: unknown): StoreError {
  return new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
}
