import type { InternalErrors } from '../observe/internal-errors.ts';
import type { Log } from '../observe/log.ts';
import type { Secret } from '../resources/secret.ts';
import { KeyIndex } from './key-index.ts';
import { ModelIndex } from './model-index.ts';
import { NodeEntries, type OpenSealed, type WantSecret } from './node-entries.ts';
import { sealingIdentitiesOf, sealingSecretName } from './sealing.ts';
import type { Change, Kind, Rejection, ResourceOf, View } from './store.ts';

type AnyResource = ResourceOf[Kind];
type Names = Map<string, AnyResource>;

export interface ContentOptions {
  readonly log: Log;
  /** Reports what a listener throws; by default it is only logged. */
  readonly internalErrors?: InternalErrors | undefined;
  /** Where the Secret with the sealing identities lives: the controller's own namespace. */
  readonly sealingNamespace: string;
  readonly openSealed: OpenSealed;
  /**
   * Called when a first node names a Secret, and when no node names it any more. It may call `setSecret` or `removeSecret`
   * at once. Until one of them is called, the credentials of those nodes are `Pending`.
   */
  readonly wantSecret?: WantSecret;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
}

/**
 * The resources in memory, with their indexes. Both stores write to it, and requests read it. Every change is applied
 * synchronously, and is visible before listeners are called.
 */
export class Content implements View {
  readonly #kinds: { readonly [K in Kind]: Map<string, Names> } = {
    UpstreamNode: new Map(),
    APIKey: new Map(),
    MasterKey: new Map(),
  };
  readonly #keys = new KeyIndex();
  readonly #models = new ModelIndex();
  readonly #nodes: NodeEntries;
  readonly #internalErrors: InternalErrors;
  readonly #sealingNamespace: string;
  readonly #rejections = new Map<string, Rejection>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #unheard: Change[] = [];
  #telling = false;
  #identities: readonly string[] = [];
  #whenSynced = Promise.withResolvers<void>();
  #synced = false;

  constructor(options: ContentOptions) {
    this.#internalErrors =
      options.internalErrors ??
      ((place, error) =>
        options.log.error({ err: error, place }, 'A listener failed on a change of the store'));
    this.#sealingNamespace = options.sealingNamespace;
    this.#nodes = new NodeEntries({
      openSealed: options.openSealed,
      now: options.now ?? Date.now,
      wantSecret: options.wantSecret ?? (() => {}),
      changed: (before, after) => {
        this.#models.replace(before, after);
        const { namespace, name } = after.resource.metadata;
        this.#tell({ kind: 'Credentials', namespace, name });
      },
    });
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): ResourceOf[K] | undefined {
    return this.#kinds[kind].get(namespace)?.get(name) as ResourceOf[K] | undefined;
  }

  *list<K extends Kind>(kind: K, namespace?: string): Iterable<ResourceOf[K]> {
    const namespaces =
      namespace === undefined ? this.#kinds[kind].values() : [this.#kinds[kind].get(namespace)];
    for (const names of namespaces) {
      if (names !== undefined) yield* names.values() as Iterable<ResourceOf[K]>;
    }
  }

  key(hash: string) {
    return this.#keys.owner(hash);
  }

  claims(hash: string) {
    return this.#keys.claims(hash);
  }

  served(name: string) {
    return this.#models.served(name);
  }

  servedNames(): Iterable<string> {
    return this.#models.names();
  }

  node(namespace: string, name: string) {
    return this.#nodes.get(`${namespace}/${name}`);
  }

  sealingIdentities(): readonly string[] {
    return this.#identities;
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** Notes that the first list of every kind is complete. */
  markSynced(): void {
    this.#synced = true;
    this.#whenSynced.resolve();
  }

  /** Settles when `markSynced` was called; rejects with the signal's reason if the signal aborts first. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([this.#whenSynced.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Settles when every sealed credential that can be opened was opened. */
  credentialsSettled(): Promise<void> {
    return this.#nodes.settled();
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Replaces the resource with the same kind, namespace and name. Does nothing if it is the same version. */
  set(resource: AnyResource): void {
    const { kind } = resource;
    const { namespace, name } = resource.metadata;
    const before = this.get(kind, namespace, name);
    if (before === resource || (before !== undefined && isSameVersion(before.metadata, resource.metadata)))
      return;
    const names = this.#kinds[kind].get(namespace) ?? new Map<string, AnyResource>();
    names.set(name, resource);
    this.#kinds[kind].set(namespace, names);
    if (resource.kind === 'UpstreamNode') {
      const entries = this.#nodes.set(resource);
      this.#models.replace(entries.before, entries.after);
    } else {
      this.#keys.replace(before?.kind === 'UpstreamNode' ? undefined : before, resource);
    }
    this.#tell(changeOf(kind, namespace, name, before, resource));
  }

  remove(kind: Kind, namespace: string, name: string): void {
    const names = this.#kinds[kind].get(namespace);
    const before = names?.get(name);
    if (names === undefined || before === undefined) return;
    names.delete(name);
    if (names.size === 0) this.#kinds[kind].delete(namespace);
    if (before.kind === 'UpstreamNode')
      this.#models.replace(this.#nodes.remove(`${namespace}/${name}`), undefined);
    else this.#keys.replace(before, undefined);
    this.#tell(changeOf(kind, namespace, name, before, undefined));
  }

  /** Notes that the newest version of an object does not parse. Returns false if this was noted for its generation before. */
  reject(rejection: Rejection): boolean {
    const { kind, metadata } = rejection;
    const { namespace, name, uid, generation } = metadata;
    const id = `${kind}/${namespace}/${name}`;
    const known = this.#rejections.get(id)?.metadata;
    this.#rejections.set(id, rejection);
    this.#tell({ kind: 'Rejection', of: kind, namespace, name });
    return known?.uid !== uid || known?.generation !== generation;
  }

  /** Notes that an object parses, or no longer exists. */
  accept(kind: Kind, namespace: string, name: string): void {
    this.#rejections.delete(`${kind}/${namespace}/${name}`);
  }

  rejection(kind: Kind, namespace: string, name: string): Rejection | undefined {
    return this.#rejections.get(`${kind}/${namespace}/${name}`);
  }

  rejections(): Iterable<Rejection> {
    return this.#rejections.values();
  }

  /** Replaces all resources of one kind, in one namespace or in all. */
  replaceAll<K extends Kind>(kind: K, resources: Iterable<ResourceOf[K]>, namespace?: string): void {
    const gone = new Map<string, Set<string>>();
    for (const [place, names] of this.#kinds[kind]) {
      if (namespace === undefined || place === namespace) gone.set(place, new Set(names.keys()));
    }
    for (const resource of resources) {
      gone.get(resource.metadata.namespace)?.delete(resource.metadata.name);
      this.set(resource);
    }
    for (const [place, names] of gone) {
      for (const name of names) this.remove(kind, place, name);
    }
  }

  /** Notifies listeners that a Secret changed whose content no node needs, such as one that the controller made. */
  touchSecret(namespace: string, name: string): void {
    this.#tell({ kind: 'Secret', namespace, name });
  }

  /** Sets a Secret. It is kept only while a node names it. The sealing Secret also sets the identities. */
  setSecret(secret: Secret): void {
    const { namespace, name } = secret.metadata;
    this.#nodes.setSecret(namespace, name, secret);
    if (this.#isSealing(namespace, name)) {
      const identities = sealingIdentitiesOf(secret);
      // An emptied Secret is treated as a deleted one: the known identities stay.
      if (identities.length > 0 || this.#identities.length === 0) this.setSealingIdentities(identities);
    }
    this.#tell({ kind: 'Secret', namespace, name });
  }

  /**
   * Notes that there is no such Secret. Known sealing identities stay, so that sealed credentials work until the controller
   * has created the Secret again.
   */
  removeSecret(namespace: string, name: string): void {
    this.#nodes.setSecret(namespace, name, 'Missing');
    if (this.#isSealing(namespace, name) && this.#identities.length === 0) this.setSealingIdentities([]);
    this.#tell({ kind: 'Secret', namespace, name });
  }

  /** Notes that a Secret may not be read. What was read of it before stays in force. */
  forbidSecret(namespace: string, name: string): void {
    this.#nodes.forbidSecret(namespace, name);
  }

  /** Sets the age identities, the newest first; an empty list means that there are none. */
  setSealingIdentities(identities: readonly string[]): void {
    this.#identities = identities;
    this.#nodes.setIdentities(identities);
    this.#tell({ kind: 'Sealing' });
  }

  #isSealing(namespace: string, name: string): boolean {
    return namespace === this.#sealingNamespace && name === sealingSecretName;
  }

  /** Notifies the listeners. A listener may change the content, so a queue keeps the changes in order for all listeners. */
  #tell(change: Change): void {
    this.#unheard.push(change);
    if (this.#telling) return;
    this.#telling = true;
    for (let next = this.#unheard.shift(); next !== undefined; next = this.#unheard.shift()) {
      for (const listener of this.#listeners) {
        try {
          listener(next);
        } catch (error) {
          this.#internalErrors('change', error);
        }
      }
    }
    this.#telling = false;
  }
}

/** What identifies a version of an object. */
type Version = { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };

/** Whether two objects of an API server are the same version of the same object. Without a version they never are. */
export function isSameVersion(a: Version, b: Version): boolean {
  const version = a.resourceVersion;
  return version !== undefined && version === b.resourceVersion && a.uid === b.uid;
}

function changeOf(
  kind: Kind,
  namespace: string,
  name: string,
  before: AnyResource | undefined,
  after: AnyResource | undefined,
): Change {
  return {
    kind,
    namespace,
    name,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  } as Change;
}
