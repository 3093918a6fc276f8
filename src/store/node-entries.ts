import type { NativeFormat } from '../resources/formats.ts';
import type { Secret } from '../resources/secret.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import { checkedAtMs } from './checked-at.ts';
import { type KnownSecret, namedSecrets, resolveCredentials, type Unsealed } from './credentials.ts';
import type { NodeEntry } from './store.ts';

/** Opens the sealed text of a node with the first identity that fits. Does not throw for bad texts. */
export type OpenSealed = (node: UpstreamNode, identities: readonly string[]) => Promise<Unsealed>;

/** Reports that a Secret is needed, or is no longer needed. The function may set the Secret at once. */
export type WantSecret = (namespace: string, name: string, wanted: boolean) => void;

/** Called after a node's entry changed although the node did not: a Secret changed, or its sealed text was opened. */
export type EntryChanged = (before: NodeEntry, after: NodeEntry) => void;

interface Tracked {
  entry: NodeEntry;
  secrets: ReadonlySet<string>;
  unsealed: Unsealed;
  /** The latest opening. The result of an older one is ignored. */
  opening: symbol | undefined;
}

interface WantedSecret {
  secret: KnownSecret;
  readonly nodes: Set<string>;
}

/**
 * The nodes with their credentials. Keeps only Secrets that some node names, and touches only the nodes that name a
 * Secret when it changes.
 */
export class NodeEntries {
  readonly #nodes = new Map<string, Tracked>();
  readonly #secrets = new Map<string, WantedSecret>();
  readonly #sealed = new Set<string>();
  readonly #now: () => number;
  readonly #openSealed: OpenSealed;
  readonly #wantSecret: WantSecret;
  readonly #changed: EntryChanged;
  #identities: readonly string[] | undefined;
  #openings: Promise<void> = Promise.resolve();

  /** `now` gives milliseconds since 1970. */
  constructor(options: {
    openSealed: OpenSealed;
    wantSecret: WantSecret;
    changed: EntryChanged;
    now: () => number;
  }) {
    this.#now = options.now;
    this.#openSealed = options.openSealed;
    this.#wantSecret = options.wantSecret;
    this.#changed = options.changed;
  }

  get(id: string): NodeEntry | undefined {
    return this.#nodes.get(id)?.entry;
  }

  set(node: UpstreamNode): { before: NodeEntry | undefined; after: NodeEntry } {
    const id = `${node.metadata.namespace}/${node.metadata.name}`;
    const old = this.#nodes.get(id);
    const secrets = namedSecrets(node);
    for (const name of secrets) this.#want(node.metadata.namespace, name, id);
    const before = old?.entry;
    for (const name of old?.secrets ?? []) {
      if (!secrets.has(name)) this.#unwant(node.metadata.namespace, name, id);
    }
    // An opened credential is valid for one sealed text and one origin, and must never be sent to another origin.
    const keep = before !== undefined && sameSealing(before.resource, node) ? old : undefined;
    const tracked: Tracked = {
      entry: this.#entry(id, node, keep?.unsealed, before),
      secrets,
      unsealed: keep?.unsealed,
      opening: keep?.opening,
    };
    this.#nodes.set(id, tracked);
    if (node.spec.encryptedAPIKey === undefined) {
      this.#sealed.delete(id);
    } else {
      this.#sealed.add(id);
      if (keep === undefined) this.#open(id, tracked);
    }
    return { before, after: tracked.entry };
  }

  remove(id: string): NodeEntry | undefined {
    const tracked = this.#nodes.get(id);
    if (tracked === undefined) return undefined;
    this.#nodes.delete(id);
    this.#sealed.delete(id);
    for (const name of tracked.secrets) this.#unwant(tracked.entry.resource.metadata.namespace, name, id);
    return tracked.entry;
  }

  /** Sets a Secret, or that there is none. A Secret that no node names is not kept. */
  setSecret(namespace: string, name: string, secret: Secret | 'Missing'): void {
    const wanted = this.#secrets.get(`${namespace}/${name}`);
    if (wanted === undefined) return;
    wanted.secret = secret;
    for (const id of wanted.nodes) this.#refresh(id);
  }

  /** Notes that a Secret may not be read. What was read before stays. */
  forbidSecret(namespace: string, name: string): void {
    const wanted = this.#secrets.get(`${namespace}/${name}`);
    if (wanted === undefined || typeof wanted.secret === 'object') return;
    wanted.secret = 'Forbidden';
    for (const id of wanted.nodes) this.#refresh(id);
  }

  /** Sets the identities, the newest first. An opened credential stays in use until its sealed text was opened again. */
  setIdentities(identities: readonly string[]): void {
    this.#identities = identities;
    for (const id of this.#sealed) {
      const tracked = this.#nodes.get(id);
      if (tracked !== undefined) this.#open(id, tracked);
    }
  }

  /** Settles when every opening that was started has ended. */
  async settled(): Promise<void> {
    let last: Promise<void> | undefined;
    while (last !== this.#openings) {
      last = this.#openings;
      await last;
    }
  }

  #want(namespace: string, name: string, id: string): void {
    const key = `${namespace}/${name}`;
    const wanted = this.#secrets.get(key);
    if (wanted !== undefined) {
      wanted.nodes.add(id);
      return;
    }
    this.#secrets.set(key, { secret: undefined, nodes: new Set([id]) });
    this.#wantSecret(namespace, name, true);
  }

  #unwant(namespace: string, name: string, id: string): void {
    const key = `${namespace}/${name}`;
    const wanted = this.#secrets.get(key);
    if (wanted === undefined) return;
    wanted.nodes.delete(id);
    if (wanted.nodes.size > 0) return;
    this.#secrets.delete(key);
    this.#wantSecret(namespace, name, false);
  }

  #refresh(id: string): void {
    const tracked = this.#nodes.get(id);
    if (tracked === undefined) return;
    const before = tracked.entry;
    const after = this.#entry(id, before.resource, tracked.unsealed, before);
    if (after.credentials === before.credentials) return;
    tracked.entry = after;
    this.#changed(before, after);
  }

  #entry(id: string, node: UpstreamNode, unsealed: Unsealed, previous: NodeEntry | undefined): NodeEntry {
    const secretOf = (name: string) => this.#secrets.get(`${node.metadata.namespace}/${name}`)?.secret;
    return {
      id,
      resource: node,
      nativeFormats: formatSet(node.spec.nativeFormats),
      credentials: resolveCredentials(node, secretOf, unsealed, previous?.credentials),
      checkedAtMs: checkedAtMs(node, this.#now()),
    };
  }

  #open(id: string, tracked: Tracked): void {
    const identities = this.#identities;
    if (identities === undefined) return;
    const opening = Symbol(id);
    tracked.opening = opening;
    // One after the other: each takes milliseconds of this thread, and a thousand at once would block requests.
    this.#openings = this.#openings.then(async () => {
      const current = this.#nodes.get(id);
      if (current?.opening !== opening) return;
      const { resource } = current.entry;
      const unsealed = await this.#openSealed(resource, identities).catch(
        (): Unsealed => ({
          reason: 'SealedKeyUnreadable',
          message: 'spec.encryptedAPIKey could not be opened; seal the credential again.',
        }),
      );
      const now = this.#nodes.get(id);
      if (now?.opening !== opening) return;
      now.opening = undefined;
      now.unsealed = unsealed;
      this.#refresh(id);
    });
  }
}

function sameSealing(a: UpstreamNode, b: UpstreamNode): boolean {
  return a.spec.encryptedAPIKey === b.spec.encryptedAPIKey && a.spec.baseURL === b.spec.baseURL;
}

const formatSets = new Map<string, ReadonlySet<NativeFormat>>();

/** Shared, because there are only eight possible sets for thousands of nodes. */
function formatSet(formats: readonly NativeFormat[] = []): ReadonlySet<NativeFormat> {
  const key = [...formats].sort().join();
  const known = formatSets.get(key);
  if (known !== undefined) return known;
  const made: ReadonlySet<NativeFormat> = new Set(formats);
  formatSets.set(key, made);
  return made;
}
