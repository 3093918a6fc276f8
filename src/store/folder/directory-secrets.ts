import { createHmac, randomUUID } from 'node:crypto';
import type { Log } from '../../observe/log.ts';
import { parseStored } from '../../resources/parse.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Content } from '../content.ts';
import { StoreError } from '../store.ts';
import type { DamagedRows } from './damaged-rows.ts';
import type { StateFile } from './state-file.ts';
import { fromStoredText } from './stored-text.ts';

/**
 * The Secrets of standalone mode: those of manifests, and those that the controller makes, which are stored in the state
 * file. If both have a name, the stored one is in force.
 */
export class DirectorySecrets {
  readonly #state: StateFile;
  readonly #content: () => Content;
  readonly #log: Log;
  readonly #damaged: DamagedRows;
  readonly #salt: Uint8Array;
  readonly #declared = new Map<string, Secret>();
  readonly #stored = new Map<string, Secret>();
  readonly #writing = new Set<string>();

  /** `content` is a function because the content is made with `want` of this. */
  constructor(options: {
    state: StateFile;
    content: () => Content;
    log: Log;
    damaged: DamagedRows;
    /** Makes versions of Secrets from which nobody can guess the data. */
    salt: Uint8Array;
  }) {
    this.#state = options.state;
    this.#content = options.content;
    this.#log = options.log;
    this.#damaged = options.damaged;
    this.#salt = options.salt;
    for (const [id, text] of this.#state.all('secret')) {
      const secret = fromStoredText('Secret', text);
      if (secret === undefined) this.#damaged.add('secret', id);
      else this.#stored.set(id, secret);
    }
  }

  /** Feeds a Secret that a node names into the content, now and at each change. */
  want(namespace: string, name: string, wanted: boolean): void {
    if (wanted) this.#feed(namespace, name);
  }

  /** Takes what the manifests declare. */
  declare(namespace: string, name: string, secret: Secret | undefined): void {
    const id = `${namespace}/${name}`;
    if (secret === undefined && !this.#declared.has(id)) return;
    if (secret === undefined) this.#declared.delete(id);
    else this.#declared.set(id, this.#versioned(secret));
    if (!this.isStored(namespace, name)) this.#feed(namespace, name);
  }

  isDeclared(namespace: string, name: string): boolean {
    return this.#declared.has(`${namespace}/${name}`);
  }

  /** Whether the state file holds a Secret of this name, damaged or not. */
  isStored(namespace: string, name: string): boolean {
    const id = `${namespace}/${name}`;
    return this.#stored.has(id) || this.#damaged.has('secret', id);
  }

  /** @throws StoreError `Invalid` if it is damaged: one that seems to be missing would be issued again, and its key revoked */
  read(namespace: string, name: string): Secret | undefined {
    const id = `${namespace}/${name}`;
    if (this.#damaged.has('secret', id)) {
      throw new StoreError(
        'Invalid',
        `The Secret "${name}" is damaged in the state file; restore the data folder from a backup, or stop the process and delete the row "${id}" from the table "secret".`,
      );
    }
    return this.#stored.get(id) ?? this.#declared.get(id);
  }

  /** The uid of an object by the stored Secrets that it owns, for one whose own record is damaged. */
  ownerUid(kind: string, namespace: string, name: string): string | undefined {
    for (const { metadata } of this.#stored.values()) {
      if (metadata.namespace !== namespace) continue;
      const owner = metadata.ownerReferences?.find((each) => each.kind === kind && each.name === name);
      if (owner !== undefined) return owner.uid;
    }
    return undefined;
  }

  /** Settles when the Secret is on disk. @throws StoreError */
  async create(secret: Secret, creationTimestamp: string): Promise<Secret> {
    const { namespace, name } = secret.metadata;
    const id = `${namespace}/${name}`;
    if (this.isStored(namespace, name) || this.#declared.has(id)) {
      throw new StoreError('AlreadyExists', `The Secret ${id} exists already.`);
    }
    const created = checkedSecret({
      ...secret,
      metadata: { ...secret.metadata, uid: randomUUID(), resourceVersion: '1', creationTimestamp },
    });
    // Reserved before it is written, so that only one of two writers gets the name.
    this.#stored.set(id, created);
    try {
      await this.#write(id, created);
    } catch (error) {
      this.#stored.delete(id);
      throw error;
    }
    this.#content().setSecret(created);
    return created;
  }

  /** Changes the Secret of which `read` is a version. Settles when it is on disk. @throws StoreError */
  async replace(read: Secret, change: (current: Secret) => Secret): Promise<Secret> {
    const { namespace, name, resourceVersion } = read.metadata;
    const id = `${namespace}/${name}`;
    const current = this.#stored.get(id);
    if (current === undefined) {
      if (this.read(namespace, name) === undefined)
        throw new StoreError('NotFound', `There is no Secret ${id}.`);
      throw new StoreError('Declared', `The Secret ${id} is declared by a manifest; change it there.`);
    }
    if (this.#writing.has(id)) throw new StoreError('Conflict', `The Secret ${id} is being changed.`);
    const { uid, resourceVersion: version } = current.metadata;
    if ((read.metadata.uid ?? uid) !== uid || resourceVersion !== version) {
      throw new StoreError('Conflict', `The Secret ${id} has changed since it was read.`);
    }
    const changed = change(current);
    const next = checkedSecret({
      ...changed,
      metadata: { ...changed.metadata, resourceVersion: String(Number(version) + 1) },
    });
    this.#writing.add(id);
    try {
      await this.#write(id, next);
    } finally {
      this.#writing.delete(id);
    }
    this.#stored.set(id, next);
    this.#content().setSecret(next);
    return next;
  }

  /** Removes the stored Secrets of an owner that was deleted, as a cluster's garbage collector does. */
  async collect(owner: string, isAlive: (uid: string) => boolean): Promise<void> {
    for (const [id, secret] of this.#stored) {
      const owners = ownersOf(secret);
      if (!owners.includes(owner) || owners.some(isAlive)) continue;
      try {
        await this.#write(id, undefined);
      } catch (error) {
        this.#log.error({ err: error, secret: id }, 'A Secret whose owner was deleted could not be removed');
        continue;
      }
      this.#stored.delete(id);
      this.#feed(secret.metadata.namespace, secret.metadata.name);
    }
  }

  /** The uids of all owners of stored Secrets. */
  owners(): Iterable<string> {
    return new Set([...this.#stored.values()].flatMap(ownersOf));
  }

  async #write(id: string, secret: Secret | undefined): Promise<void> {
    try {
      await this.#state.write([{ table: 'secret', id, text: secret && JSON.stringify(secret) }]);
    } catch (error) {
      throw new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
    }
  }

  #feed(namespace: string, name: string): void {
    const id = `${namespace}/${name}`;
    const secret = this.#damaged.has('secret', id) ? undefined : this.read(namespace, name);
    if (secret === undefined) this.#content().removeSecret(namespace, name);
    else this.#content().setSecret(secret);
  }

  /** A version that changes with the data and survives a restart. Salted, because a status publishes it. */
  #versioned(secret: Secret): Secret {
    const data = Object.entries(secret.data).sort(([a], [b]) => (a < b ? -1 : 1));
    const resourceVersion = createHmac('sha256', this.#salt)
      .update(JSON.stringify(data))
      .digest('hex')
      .slice(0, 16);
    return { ...secret, metadata: { ...secret.metadata, resourceVersion } };
  }
}

function ownersOf(secret: Secret): string[] {
  return (secret.metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

/** Nothing is written that the schema would not read back. */
function checkedSecret(secret: Secret): Secret {
  const parsed = parseStored(secret);
  if ('resource' in parsed && parsed.resource.kind === 'Secret') return parsed.resource;
  throw new StoreError('Invalid', 'The Secret is not valid.');
}
