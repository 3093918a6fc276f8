import { isDeepStrictEqual } from 'node:util';
import type { ApiKey } from '../../resources/api-key.ts';
import { type Kind, type ResourceOf, StoreError } from '../store.ts';
import { Decisions, type FolderParts, type Step } from './decisions.ts';
import type { Breathe } from './declarations.ts';
import { identified, withStatus } from './identified.ts';
import type { FoundProblem } from './manifest-problems.ts';
import { resourceId } from './parse-manifest.ts';
import type { Sourced } from './records.ts';
import { storedStatus } from './resource-record.ts';

type Stored = ResourceOf[Kind];

/** Objects that are decided about together: their records are one transaction. */
const batchSize = 100;

/**
 * Plays the API server's part for the objects of a folder: which declaration is in force, uid, creation time,
 * generation and status beside it, and the keys that were made through the keys API.
 */
export class DirectoryObjects {
  readonly #parts: FolderParts;
  readonly #decisions: Decisions;
  #isSwept = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: FolderParts) {
    this.#parts = parts;
    this.#decisions = new Decisions(parts);
  }

  /** Reads the keys that were made through the keys API. */
  load(): void {
    const { made, records } = this.#parts;
    for (const key of made.load()) {
      const { uid = '', creationTimestamp = '', generation = 1 } = key.metadata;
      const id = resourceId(key);
      const former = records.former(id);
      const status = storedStatus(key, former?.status);
      const whole = identified(key, { uid, creationTimestamp, generation }, status);
      this.#show(id, { resource: whole, file: undefined });
      if (former === undefined) records.note(id);
    }
  }

  /** Why declarations that are valid by themselves are not in force. */
  problems(): Iterable<FoundProblem> {
    return this.#decisions.problems();
  }

  /** Brings the content in line with what the manifests say about these objects. */
  async apply(ids: Iterable<string>, breathe: Breathe): Promise<void> {
    const all = [...ids];
    for (let at = 0; at < all.length; at += batchSize) {
      await this.#alone(() => this.#apply(all.slice(at, at + batchSize), breathe));
    }
  }

  /** To be called after each look at the folder: files that cannot be read keep what they held, also at the start. */
  async keepUnreadable(breathe: Breathe): Promise<void> {
    for (const [id, object] of await this.#decisions.endStart(breathe)) this.#show(id, object);
    await this.apply(this.#decisions.release(), breathe);
  }

  /**
   * Removes what belongs to objects of the last run that no manifest declares, once: later it is removed with its object.
   * Only for a folder that was read and applied without a problem, because what could not be read may be the declaration.
   */
  async sweep(breathe: Breathe): Promise<void> {
    const { records, manifests, secrets } = this.#parts;
    if (this.#isSwept || !manifests.sound) return;
    const gone = records.formerIds().filter((id) => manifests.of(id).length === 0);
    await records.write(gone.map((id) => ({ id, next: undefined })));
    this.#isSwept = true;
    const alive = new Set(this.#uids());
    for (const owner of secrets.owners()) {
      await breathe();
      if (!alive.has(owner)) await secrets.collect(owner, (uid) => alive.has(uid));
    }
  }

  /** @throws StoreError */
  writeStatus<K extends Kind>(
    kind: K,
    resource: ResourceOf[K],
    status: NonNullable<ResourceOf[K]['status']>,
  ): Promise<void> {
    return this.#alone(async () => {
      const { content, records } = this.#parts;
      const { namespace, name, uid } = resource.metadata;
      const current = content.get(kind, namespace, name);
      if (current === undefined) throw missing(kind, namespace, name);
      if (current.metadata.uid !== uid) throw replaced(kind, namespace, name);
      if (isDeepStrictEqual(current.status, status)) return;
      const next = withStatus(current, status);
      const id = resourceId(next);
      this.#show(id, { resource: next, file: records.fileOf(id) });
      records.note(id);
      // The hash of a generated key is stored nowhere else, in particular that of an old one during its overlap.
      if ('hashes' in status && 'secretName' in resource.spec) await this.#saved(id);
    });
  }

  /** Settles when the key is on disk and in the content. @throws StoreError */
  createKey(key: ApiKey): Promise<ApiKey> {
    return this.#alone(async () => {
      const { content, made, manifests, newIdentity, records } = this.#parts;
      const { namespace, name } = key.metadata;
      const id = resourceId(key);
      const exists = made.has(namespace, name) || content.get('APIKey', namespace, name) !== undefined;
      if (exists || manifests.of(id).length > 0) {
        throw new StoreError('AlreadyExists', `The APIKey ${namespace}/${name} exists already.`);
      }
      const { status: _, ...spec } = key;
      const created = await made.write({ ...spec, metadata: { ...key.metadata, ...newIdentity() } });
      this.#show(id, { resource: created, file: undefined });
      records.note(id);
      return created;
    });
  }

  /** Settles when the key was deleted from disk and from the content. @throws StoreError */
  deleteKey(key: ApiKey, breathe: Breathe): Promise<void> {
    return this.#alone(async () => {
      const { content, made, manifests, records } = this.#parts;
      const { namespace, name, uid } = key.metadata;
      const id = resourceId(key);
      const current = content.get('APIKey', namespace, name);
      if (current === undefined) throw missing('APIKey', namespace, name);
      if (!made.has(namespace, name)) {
        const [declaration] = manifests.of(id);
        const where = declaration === undefined ? 'a manifest' : `the manifest ${declaration.file}`;
        throw new StoreError(
          'Declared',
          `The APIKey ${namespace}/${name} is declared by ${where}; remove it there.`,
        );
      }
      if (current.metadata.uid !== uid) throw replaced('APIKey', namespace, name);
      await made.remove(namespace, name);
      await records.write([{ id, next: undefined }]);
      await this.#delete(current);
      // A manifest may declare another key of this name.
      await this.#apply([id], breathe);
    });
  }

  /** Runs one change after the other: what was decided must still be true when it is on disk. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #apply(ids: readonly string[], breathe: Breathe): Promise<void> {
    const { applied, records } = this.#parts;
    const steps: Step[] = [];
    for (const id of ids) {
      await breathe();
      steps.push(...this.#decisions.decide(id));
    }
    await records.write(steps.filter(({ isNews }) => isNews));
    for (const { id, next, action } of steps) {
      await breathe();
      const current = this.#decisions.current(id);
      const file = next === undefined ? records.fileOf(id) : next.file;
      if (next !== undefined) this.#show(id, next);
      else if (current !== undefined) await this.#delete(current);
      if (action !== undefined) applied.note(id, action, file);
    }
  }

  #show(id: string, object: Sourced): void {
    this.#parts.content.set(object.resource);
    this.#parts.records.set(id, object);
  }

  /** Deletes an object, after its row was deleted. */
  async #delete(current: Stored): Promise<void> {
    const { content, records, secrets } = this.#parts;
    const { namespace, name, uid } = current.metadata;
    content.remove(current.kind, namespace, name);
    records.delete(resourceId(current));
    if (uid === undefined) return;
    await secrets.collect(uid, (owner) => owner !== uid && this.#isAlive(owner));
  }

  #isAlive(wanted: string): boolean {
    for (const uid of this.#uids()) if (uid === wanted) return true;
    return false;
  }

  /** The uids of all objects in force. */
  *#uids(): Iterable<string> {
    for (const kind of ['APIKey', 'MasterKey', 'UpstreamNode'] as const) {
      for (const { metadata } of this.#parts.content.list(kind)) {
        if (metadata.uid !== undefined) yield metadata.uid;
      }
    }
  }

  async #saved(id: string): Promise<void> {
    try {
      await this.#parts.records.saved(id);
    } catch (error) {
      throw new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
    }
  }
}

function missing(kind: Kind, namespace: string, name: string): StoreError {
  return new StoreError('NotFound', `There is no ${kind} ${namespace}/${name}.`);
}

function replaced(kind: Kind, namespace: string, name: string): StoreError {
  return new StoreError('Conflict', `The ${kind} ${namespace}/${name} was deleted and created again.`);
}
