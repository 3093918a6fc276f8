import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../observe/log.ts';
import type { ApiKey } from '../../resources/api-key.ts';
import { changeProblems } from '../../resources/change.ts';
import type { Content } from '../content.ts';
import { type Kind, type ResourceOf, StoreError } from '../store.ts';
import type { AppliedLog } from './applied-log.ts';
import {
  reportBehindKept,
  reportKept,
  reportRefusal,
  reportRepeats,
  reportStored,
} from './declaration-reports.ts';
import type { DirectorySecrets } from './directory-secrets.ts';
import { authored, identified, withStatus } from './identified.ts';
import type { Identity } from './identity-maker.ts';
import { KeptFiles } from './kept-files.ts';
import type { MadeKeys } from './made-keys.ts';
import type { FoundProblem } from './manifest-problems.ts';
import type { Manifests } from './manifests.ts';
import { resourceId } from './parse-manifest.ts';
import type { Breathe, Declaration } from './piece.ts';
import type { Records } from './records.ts';
import { partsOf, recordedObject, specMark, storedStatus } from './resource-record.ts';

type Stored = ResourceOf[Kind];

interface Parts {
  readonly content: Content;
  readonly manifests: Manifests;
  readonly records: Records;
  readonly made: MadeKeys;
  readonly secrets: DirectorySecrets;
  readonly log: Log;
  /** Notes what the manifests changed. */
  readonly applied: AppliedLog;
  readonly newIdentity: () => Identity;
}

/**
 * Plays the API server's part for the objects of a folder: which declaration is in force, uid, creation time,
 * generation and status beside it, and the keys that were made through the keys API.
 */
export class DirectoryObjects {
  readonly #parts: Parts;
  readonly #kept: KeptFiles;
  /** Why declarations that are valid by themselves are not in force, by object. */
  readonly #refused = new Map<string, FoundProblem[]>();
  #isStarting = true;
  #isSwept = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#kept = new KeptFiles({
      ...parts,
      show: (id, object, file) => this.#show(id, object, file, false),
    });
  }

  /** Reads the keys that were made here. */
  load(): void {
    for (const key of this.#parts.made.load()) {
      const { uid = '', creationTimestamp = '', generation = 1 } = key.metadata;
      const id = resourceId(key);
      const former = this.#parts.records.former(id);
      const status = storedStatus(key, former?.status);
      const whole = identified(key, { uid, creationTimestamp, generation }, status);
      this.#show(id, whole, undefined, former === undefined);
    }
  }

  /** Why declarations that are valid by themselves are not in force. */
  *problems(): Iterable<FoundProblem> {
    for (const problems of this.#refused.values()) yield* problems;
  }

  /** Brings the content in line with what the manifests say of these objects. */
  async apply(ids: Iterable<string>, breathe: Breathe): Promise<void> {
    let count = 0;
    for (const id of ids) {
      count += 1;
      if (count % 16 === 0) await breathe();
      await this.#applyOne(id);
    }
  }

  /** To be called after each look at the folder: files that cannot be read keep what they held, also at the start. */
  async keepUnreadable(breathe: Breathe): Promise<void> {
    if (this.#isStarting) await this.#kept.begin(breathe);
    this.#isStarting = false;
    for (const id of this.#kept.release()) await this.#applyOne(id);
  }

  /**
   * Removes what belongs to objects that nobody declares any more, once: later it goes with its object. Only for a
   * folder that was read and applied without a problem: what could not be read may be the declaration.
   */
  async sweep(breathe: Breathe): Promise<void> {
    const { records, manifests, secrets } = this.#parts;
    if (this.#isSwept || !manifests.sound) return;
    for (const id of records.formerIds()) {
      await breathe();
      if (manifests.of(id).length === 0) records.delete(id);
    }
    this.#isSwept = true;
    const alive = new Set(this.#uids());
    for (const owner of secrets.owners()) {
      if (!alive.has(owner)) await secrets.collect(owner, (uid) => alive.has(uid));
    }
  }

  /** @throws StoreError */
  async writeStatus<K extends Kind>(
    kind: K,
    resource: ResourceOf[K],
    status: NonNullable<ResourceOf[K]['status']>,
  ): Promise<void> {
    const { content } = this.#parts;
    const { namespace, name, uid } = resource.metadata;
    const current = content.get(kind, namespace, name);
    if (current === undefined) throw new StoreError('NotFound', `There is no ${kind} ${namespace}/${name}.`);
    if (current.metadata.uid !== uid)
      throw new StoreError('Conflict', `The ${kind} ${namespace}/${name} was deleted and made anew.`);
    if (isDeepStrictEqual(current.status, status)) return;
    const next = withStatus(current, status);
    const id = resourceId(next);
    this.#show(id, next, this.#parts.records.fileOf(id));
    // The hash of a generated key lives nowhere else, least of all that of an old one during its overlap.
    if ('hashes' in status && 'secretName' in resource.spec) await this.#saved(id);
  }

  /** Settles when the key is on disk and in the content. @throws StoreError */
  async createKey(key: ApiKey): Promise<ApiKey> {
    const { content, made, manifests, newIdentity } = this.#parts;
    const { namespace, name } = key.metadata;
    const id = resourceId(key);
    const exists = made.has(namespace, name) || content.get('APIKey', namespace, name) !== undefined;
    if (exists || manifests.of(id).length > 0) {
      throw new StoreError('AlreadyExists', `The APIKey ${namespace}/${name} exists already.`);
    }
    const { status: _, ...spec } = key;
    const created = await made.write({ ...spec, metadata: { ...key.metadata, ...newIdentity() } });
    this.#show(id, created, undefined);
    return created;
  }

  /** Settles when the key is gone from disk and from the content. @throws StoreError */
  async deleteKey(key: ApiKey): Promise<void> {
    const { content, made, manifests } = this.#parts;
    const { namespace, name, uid } = key.metadata;
    const id = resourceId(key);
    const current = content.get('APIKey', namespace, name);
    if (current === undefined) throw new StoreError('NotFound', `There is no APIKey ${namespace}/${name}.`);
    if (!made.has(namespace, name)) {
      const [declaration] = manifests.of(id);
      const where = declaration === undefined ? 'a manifest' : `the manifest ${declaration.file}`;
      throw new StoreError(
        'Declared',
        `The APIKey ${namespace}/${name} is declared by ${where}; remove it there.`,
      );
    }
    if (current.metadata.uid !== uid) {
      throw new StoreError('Conflict', `The APIKey ${namespace}/${name} was deleted and made anew.`);
    }
    await made.remove(namespace, name);
    await this.#removeObject(id);
    await this.#applyOne(id);
  }

  async #applyOne(id: string): Promise<void> {
    const { applied, log, manifests, records, secrets } = this.#parts;
    this.#refused.delete(id);
    const declarations = manifests.of(id);
    const [first, ...others] = declarations;
    const [kind, namespace, name] = partsOf(id);
    const isMade = this.#isMade(id);
    if (first !== undefined) {
      if (isMade || (kind === 'Secret' && secrets.isStored(namespace, name)))
        this.#refuse(id, [reportStored(log, first)]);
      this.#refuse(id, reportRepeats(log, first, others));
    }
    if (kind === 'Secret') {
      const { file, resource } = inForce(declarations) ?? {};
      const wasDeclared = secrets.isDeclared(namespace, name);
      if (resource?.kind === 'Secret') {
        secrets.declare(namespace, name, authored(resource));
        applied.note(id, wasDeclared ? 'changed' : 'created', file);
      } else if (first === undefined) {
        secrets.declare(namespace, name, undefined);
        if (wasDeclared) applied.note(id, 'deleted', undefined);
      }
      return;
    }
    if (isMade) return;
    if (this.#isStarting && first !== undefined) this.#kept.keepBefore(id, first.file);
    const keptFile = this.#kept.fileOf(id);
    if (keptFile !== undefined) {
      if (first === undefined || keptFile < first.file) {
        this.#refuse(id, reportBehindKept(log, keptFile, declarations));
        return;
      }
      this.#kept.forget(id);
    }
    if (first === undefined) {
      if (this.#current(id) !== undefined) applied.note(id, 'deleted', records.fileOf(id));
      await this.#removeObject(id);
      return;
    }
    // The last good version stays in force while the first declaration is not valid, also one of the last run.
    const current = this.#current(id);
    if (first.resource === undefined) {
      const former = current === undefined && this.#isStarting ? records.former(id) : undefined;
      const kept = current ?? (former && recordedObject(id, former));
      if (former !== undefined && kept !== undefined) this.#show(id, kept, former.file, false);
      if (kept !== undefined) return reportKept(log, first, kept.metadata.generation ?? 1);
    }
    const declaration = inForce(declarations);
    if (declaration?.resource === undefined || declaration.resource.kind === 'Secret') return;
    const { file, resource } = declaration;
    if (current === undefined) {
      this.#begin(id, declaration, resource);
      return;
    }
    if (!this.#isAllowed(declaration, current, resource)) return;
    this.#update(id, current, resource, file);
  }

  /** Puts an object into force that was not: a new one, or one that the last run knew. */
  #begin(id: string, declaration: Declaration, resource: Stored): void {
    const { applied, records, newIdentity } = this.#parts;
    const { file } = declaration;
    const former = records.former(id);
    if (former === undefined) {
      const whole = identified(resource, newIdentity(), undefined);
      this.#show(id, whole, file);
      applied.note(id, 'created', file);
      return;
    }
    const isSame = former.specMark === specMark(resource.spec);
    const last = isSame ? undefined : recordedObject(id, former);
    if (last !== undefined && !this.#isAllowed(declaration, last, resource)) {
      this.#show(id, last, former.file, false);
      return;
    }
    const generation = former.generation + (isSame ? 0 : 1);
    const whole = identified(resource, { ...former, generation }, storedStatus(resource, former.status));
    this.#show(id, whole, file, !isSame || former.file !== file);
    applied.note(id, 'created', file);
  }

  #isAllowed(declaration: Declaration, current: Stored, next: Stored): boolean {
    const problems = changeProblems(current, next);
    this.#refuse(resourceId(next), reportRefusal(this.#parts.log, declaration, problems));
    return problems.length === 0;
  }

  #refuse(id: string, problems: readonly FoundProblem[]): void {
    if (problems.length > 0) this.#refused.set(id, [...(this.#refused.get(id) ?? []), ...problems]);
  }

  #update(id: string, current: Stored, resource: Stored, file: string): void {
    const { uid = '', creationTimestamp = '', generation = 1 } = current.metadata;
    const isSame = isDeepStrictEqual(current.spec, resource.spec);
    const identity = { uid, creationTimestamp, generation: generation + (isSame ? 0 : 1) };
    const whole = identified(resource, identity, current.status);
    const isUnchanged = isSame && isDeepStrictEqual(current, whole);
    this.#show(id, isUnchanged ? current : whole, file, !isSame);
    if (!isUnchanged) this.#parts.applied.note(id, 'changed', file);
  }

  #show(id: string, resource: Stored, file: string | undefined, hasChanged = true): void {
    this.#parts.content.set(resource);
    this.#parts.records.set(id, file, hasChanged);
  }

  async #removeObject(id: string): Promise<void> {
    const { content, records, secrets } = this.#parts;
    const current = this.#current(id);
    if (current === undefined) return;
    const { namespace, name, uid } = current.metadata;
    content.remove(current.kind, namespace, name);
    records.delete(id);
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

  #current(id: string): Stored | undefined {
    const [kind, namespace, name] = partsOf(id);
    return isKind(kind) ? this.#parts.content.get(kind, namespace, name) : undefined;
  }

  #isMade(id: string): boolean {
    const [kind, namespace, name] = partsOf(id);
    return kind === 'APIKey' && this.#parts.made.has(namespace, name);
  }

  async #saved(id: string): Promise<void> {
    try {
      await this.#parts.records.saved(id);
    } catch (error) {
      throw new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
    }
  }
}

/** The first that is valid; another can be in force only while the object was never seen with a valid first one. */
function inForce(declarations: readonly Declaration[]): Declaration | undefined {
  return declarations.find(({ resource }) => resource !== undefined);
}

function isKind(kind: string): kind is Kind {
  return kind === 'UpstreamNode' || kind === 'APIKey' || kind === 'MasterKey';
}
