import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../observe/log.ts';
import type { ApiKey } from '../resources/api-key.ts';
import { changeProblems } from '../resources/change.ts';
import { parseStored } from '../resources/parse.ts';
import type { Resource } from '../resources/resource.ts';
import type { Content } from './content.ts';
import type { DataFolder } from './data-folder.ts';
import type { DirectorySecrets } from './directory-secrets.ts';
import type { Breathe, Declaration, Manifests } from './manifests.ts';
import { parseJson, type Records, specMark } from './records.ts';
import { withSharedTexts } from './shared-texts.ts';
import { type Kind, type ResourceOf, StoreError } from './store.ts';

type Stored = ResourceOf[Kind];

interface Parts {
  readonly content: Content;
  readonly manifests: Manifests;
  readonly records: Records;
  readonly folder: DataFolder;
  readonly secrets: DirectorySecrets;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
}

/**
 * Plays the API server's part for the objects of a folder: which declaration is in force, uid, creation time,
 * generation and status beside it, and the keys that were made through the keys API, each in a file of its own.
 */
export class DirectoryObjects {
  readonly #parts: Parts;
  /** Ids of the keys that were made here rather than declared. */
  readonly #made = new Set<string>();
  readonly #uids = new Set<string>();
  #second = Number.NaN;
  #secondText = '';

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Reads the keys that were made here. */
  async load(): Promise<void> {
    const { folder, log } = this.#parts;
    for (const path of await folder.list('keys')) {
      const key = keyFrom(await folder.read(path));
      if (key === undefined) {
        log.error({ file: folder.path(path) }, 'A stored key is damaged; it is left out');
        continue;
      }
      const id = idOf('APIKey', key.metadata.namespace, key.metadata.name);
      this.#made.add(id);
      const status = this.#parts.records.get(id)?.status;
      this.#show(this.#withStatus(id, key, status));
    }
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

  /**
   * Removes what belongs to objects that nobody declares any more. Only for a folder that was read without a problem:
   * what could not be read may be the declaration.
   */
  async sweep(): Promise<void> {
    const { records, manifests, secrets } = this.#parts;
    for (const id of [...records.ids()]) {
      if (!this.#made.has(id) && manifests.of(id).length === 0) records.delete(id);
    }
    for (const owner of secrets.owners()) {
      if (!this.#uids.has(owner)) await secrets.collect(owner, (uid) => this.#uids.has(uid));
    }
  }

  /** @throws StoreError */
  async writeStatus<K extends Kind>(
    kind: K,
    resource: ResourceOf[K],
    status: NonNullable<ResourceOf[K]['status']>,
  ): Promise<void> {
    const { content, records } = this.#parts;
    const { namespace, name, uid } = resource.metadata;
    const id = idOf(kind, namespace, name);
    const current = content.get(kind, namespace, name);
    const record = records.get(id);
    if (current === undefined || record === undefined) throw new StoreError('NotFound', `There is no ${id}.`);
    if (current.metadata.uid !== uid) throw new StoreError('Conflict', `${id} was deleted and made anew.`);
    if (isDeepStrictEqual(current.status, status)) return;
    records.set(id, { ...record, status });
    content.set({ ...current, status });
    // The hash of a generated key lives nowhere else, least of all that of an old one during its overlap.
    if ('hashes' in status && 'secretName' in resource.spec) await this.#saved();
  }

  /** Settles when the key is on disk and in the content. @throws StoreError */
  async createKey(key: ApiKey): Promise<ApiKey> {
    const { content, folder, manifests, records } = this.#parts;
    const { namespace, name } = key.metadata;
    const id = idOf('APIKey', namespace, name);
    if (
      this.#made.has(id) ||
      content.get('APIKey', namespace, name) !== undefined ||
      manifests.of(id).length > 0
    ) {
      throw new StoreError('AlreadyExists', `The APIKey ${namespace}/${name} exists already.`);
    }
    const { status: _, ...spec } = key;
    const metadata = {
      ...key.metadata,
      uid: this.#newUid(),
      generation: 1,
      creationTimestamp: this.#timestamp(),
    };
    const created = keyFrom(JSON.stringify({ ...spec, metadata }));
    if (created === undefined)
      throw new StoreError('Invalid', `The APIKey ${namespace}/${name} is not valid.`);
    this.#made.add(id);
    try {
      await folder.write(keyPath(namespace, name), `${JSON.stringify(created)}\n`);
    } catch (error) {
      this.#made.delete(id);
      throw new StoreError('Unavailable', 'The key could not be written to the data folder.', {
        cause: error,
      });
    }
    records.set(id, { ...recordOf(created), specMark: specMark(created.spec) });
    this.#show(created);
    return created;
  }

  /** Settles when the key is gone from disk and from the content. @throws StoreError */
  async deleteKey(key: ApiKey): Promise<void> {
    const { content, folder, manifests } = this.#parts;
    const { namespace, name, uid } = key.metadata;
    const id = idOf('APIKey', namespace, name);
    const current = content.get('APIKey', namespace, name);
    if (current === undefined) throw new StoreError('NotFound', `There is no APIKey ${namespace}/${name}.`);
    if (!this.#made.has(id)) {
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
    try {
      await folder.remove(keyPath(namespace, name));
    } catch (error) {
      throw new StoreError('Unavailable', 'The key could not be removed from the data folder.', {
        cause: error,
      });
    }
    this.#made.delete(id);
    await this.#removeObject(id);
    await this.#applyOne(id);
  }

  async #applyOne(id: string): Promise<void> {
    const { manifests, secrets } = this.#parts;
    const declarations = manifests.of(id);
    const [first] = declarations;
    const [kind = '', namespace = '', name = ''] = id.split('/');
    if (first !== undefined) this.#reportRepeats(id, first, declarations.slice(1));
    if (kind === 'Secret') {
      const { resource } = inForce(declarations) ?? {};
      if (resource?.kind === 'Secret') secrets.declare(namespace, name, authored(resource));
      else if (first === undefined) secrets.declare(namespace, name, undefined);
      return;
    }
    if (this.#made.has(id)) return;
    if (first === undefined) {
      await this.#removeObject(id);
      return;
    }
    // The last good version stays in force while the first declaration is not valid.
    const current = this.#current(id);
    if (first.resource === undefined && current !== undefined) return;
    const declaration = inForce(declarations);
    if (declaration?.resource === undefined || declaration.resource.kind === 'Secret') return;
    if (current !== undefined && this.#isRefused(declaration, current, declaration.resource)) return;
    declaration.resource = this.#set(id, authored(declaration.resource), current);
  }

  /** @returns what is in force now */
  #set(id: string, resource: Stored, current: Stored | undefined): Stored {
    const { records } = this.#parts;
    const old = records.get(id);
    const mark = specMark(resource.spec);
    const record =
      old === undefined
        ? { uid: this.#newUid(), creationTimestamp: this.#timestamp(), generation: 1, specMark: mark }
        : { ...old, specMark: mark, generation: old.specMark === mark ? old.generation : old.generation + 1 };
    if (record.generation !== old?.generation) records.set(id, record);
    const { uid, creationTimestamp, generation } = record;
    const next = { ...resource, metadata: { ...resource.metadata, uid, creationTimestamp, generation } };
    const status = current === undefined ? old?.status : current.status;
    const whole =
      current === undefined
        ? this.#withStatus(id, next, status)
        : ({ ...next, ...(status && { status }) } as Stored);
    if (current !== undefined && isDeepStrictEqual(current, whole)) return current;
    this.#show(whole);
    return whole;
  }

  /** Adds a status from a file, if it is one. */
  #withStatus<S extends Stored>(id: string, resource: S, status: unknown): S {
    if (status === undefined) return resource;
    const value = typeof status === 'string' ? parseJson(status) : status;
    const parsed = parseStored({ ...resource, status: value });
    if (!('resource' in parsed) || parsed.resource.kind === 'Secret') return resource;
    if (parsed.resource.status === undefined) return resource;
    const shared = withSharedTexts(parsed.resource.status);
    this.#parts.records.adoptStatus(id, shared);
    return { ...resource, status: shared };
  }

  #show(resource: Stored): void {
    if (resource.metadata.uid !== undefined) this.#uids.add(resource.metadata.uid);
    this.#parts.content.set(resource);
  }

  async #removeObject(id: string): Promise<void> {
    const { content, records, secrets } = this.#parts;
    const current = this.#current(id);
    if (current === undefined) return;
    const { namespace, name, uid } = current.metadata;
    content.remove(current.kind, namespace, name);
    records.delete(id);
    if (uid === undefined) return;
    this.#uids.delete(uid);
    await secrets.collect(uid, (owner) => this.#uids.has(owner));
  }

  #current(id: string): Stored | undefined {
    const [kind = '', namespace = '', name = ''] = id.split('/');
    return isKind(kind) ? this.#parts.content.get(kind, namespace, name) : undefined;
  }

  #isRefused(declaration: Declaration, current: Stored, next: Stored): boolean {
    const problems = changeProblems(current, next);
    for (const { path, reason, remedy } of problems) {
      const { file, document, line, id } = declaration;
      this.#parts.log.error(
        { file, document, line, object: id, field: path, reason, remedy },
        'A manifest is not valid; the last good version of the object stays in force',
      );
    }
    return problems.length > 0;
  }

  #reportRepeats(id: string, first: Declaration, others: readonly Declaration[]): void {
    const { log } = this.#parts;
    const isStored = id.startsWith('Secret/') && this.#parts.secrets.isStored(...nameOf(id));
    if (this.#made.has(id) || isStored) {
      const { file, document, line } = first;
      log.error(
        {
          file,
          document,
          line,
          object: id,
          reason: 'exists in the data folder already, and that one stays in force',
          remedy: 'give the declared one another name',
        },
        'A manifest declares what exists already',
      );
    }
    for (const { file, document, line } of others) {
      const reason = `is declared already by ${first.file}, document ${first.document}, line ${first.line}, which stays in force`;
      log.error(
        {
          file,
          document,
          line,
          object: id,
          field: 'metadata.name',
          reason,
          remedy: 'remove one of the two, or give it another name',
        },
        'A manifest declares what another declares',
      );
    }
  }

  async #saved(): Promise<void> {
    try {
      await this.#parts.records.saved();
    } catch (error) {
      throw new StoreError('Unavailable', 'The data folder cannot be written.', { cause: error });
    }
  }

  #timestamp(): string {
    const second = Math.floor(this.#parts.now() / 1_000);
    // The same text for all that are found in one second: there may be 100,000.
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1_000).toISOString().replace('.000', '');
    }
    return this.#secondText;
  }

  #newUid(): string {
    const hex = Buffer.from(this.#parts.randomBytes(16)).toString('hex');
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join('-');
  }
}

/** The first that is valid; another can be in force only while the object was never seen with a valid first one. */
function inForce(declarations: readonly Declaration[]): Declaration | undefined {
  return declarations.find(({ resource }) => resource !== undefined);
}

/** An object as its author may write it: what only an API server sets is dropped, as it does on creation. */
function authored<R extends Resource>(resource: R): R {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, ...metadata } =
    resource.metadata;
  return { ...resource, metadata };
}

function keyFrom(text: string | undefined): ApiKey | undefined {
  if (text === undefined) return undefined;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = parseStored(document);
  return 'resource' in parsed && parsed.resource.kind === 'APIKey' ? parsed.resource : undefined;
}

function recordOf(key: ApiKey): { uid: string; creationTimestamp: string; generation: number } {
  const { uid = '', creationTimestamp = '', generation = 1 } = key.metadata;
  return { uid, creationTimestamp, generation };
}

function keyPath(namespace: string, name: string): string {
  return `keys/${namespace}/${name}`;
}

function idOf(kind: Kind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

function nameOf(id: string): [namespace: string, name: string] {
  const [, namespace = '', name = ''] = id.split('/');
  return [namespace, name];
}

function isKind(kind: string): kind is Kind {
  return kind === 'UpstreamNode' || kind === 'APIKey' || kind === 'MasterKey';
}
