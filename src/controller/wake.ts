import { isDeepStrictEqual } from 'node:util';
import { isSameGeneration } from '../resources/is-same-generation.ts';
import { syncRequestAnnotation } from '../resources/sync-request.ts';
import type { UpstreamNode } from '../resources/upstream-node.ts';
import type { Claims } from '../store/claims.ts';
import { servedNames, servesAlike } from '../store/node-models.ts';
import { sealingSecretName } from '../store/sealing.ts';
import type { Change, Kind, ResourceOf } from '../store/store.ts';
import type { ControllerStore } from './controller-store.ts';
import { type KeyReference, KeyReferences } from './key-references.ts';
import { adoptAnnotation, type Key } from './keys/key.ts';
import type { Queue, Urgency } from './queue.ts';

export type Queues = { readonly [K in Kind | 'Sealing']: Queue };

const mostPerTurn = 500;

const kinds: readonly Kind[] = ['UpstreamNode', 'APIKey', 'MasterKey'];

/**
 * Adds ids to the queues when the store changes. The controller's own status writes arrive as changes too, so a resource is
 * added only for what others can have changed, for hashes in its status, and for what it depends on: Secrets, older claims
 * of the same hash, nodes that begin or cease to serve a model of an allowlist.
 */
export class Waker {
  readonly #store: ControllerStore;
  readonly #queues: Queues;
  readonly #homeNamespace: string;
  readonly #claims: Claims | undefined;
  readonly #references = new KeyReferences();
  #isEnded = false;

  constructor(store: ControllerStore, queues: Queues, homeNamespace: string, claims?: Claims) {
    this.#store = store;
    this.#claims = claims;
    this.#queues = queues;
    this.#homeNamespace = homeNamespace;
  }

  /**
   * Adds everything in the store to the queues, and follows changes. Objects of a namespace that is claimed later are added
   * then. Returns a function that stops it.
   */
  start(): () => void {
    const unsubscribe = this.#store.subscribe((change) => this.#wake(change));
    const unclaim = this.#claims?.subscribe((namespace) => this.#wakeNamespace(namespace));
    this.wakeAll('Background');
    return () => {
      this.#isEnded = true;
      unclaim?.();
      unsubscribe();
    };
  }

  /**
   * Adds everything to its queue and notes the references. Many objects are added in several turns of the event loop:
   * 100,000 keys at once would delay requests for half a second. Objects that change in the meantime are added by that change.
   */
  wakeAll(urgency: Urgency): void {
    this.#wakeSealing(urgency);
    for (const { kind, metadata } of this.#store.rejections?.() ?? []) this.#add(kind, metadata, urgency);
    this.#addInTurns(this.#everything(), urgency);
  }

  #wakeNamespace(namespace: string): void {
    for (const { kind, metadata } of this.#store.rejections?.() ?? []) {
      if (metadata.namespace === namespace) this.#add(kind, metadata, 'Background');
    }
    this.#addInTurns(this.#everything(namespace), 'Background');
  }

  #addInTurns(rest: Generator<ResourceOf[Kind]>, urgency: Urgency): void {
    const turn = (): void => {
      for (let count = 0; count < mostPerTurn; count += 1) {
        const next = rest.next();
        if (next.done === true || this.#isEnded) return;
        const { kind, metadata } = next.value;
        if (next.value.kind !== 'UpstreamNode') this.#references.replace(undefined, next.value);
        if (this.#claims?.acts(metadata.namespace) !== false) this.#add(kind, metadata, urgency);
      }
      setImmediate(turn);
    };
    turn();
  }

  *#everything(namespace?: string): Generator<ResourceOf[Kind]> {
    for (const kind of kinds) yield* this.#store.list(kind, namespace);
  }

  #wake(change: Change): void {
    switch (change.kind) {
      case 'UpstreamNode':
        if (isForeign(change.before, change.after)) this.#add(change.kind, change, 'Urgent');
        for (const name of changedNames(change.before, change.after)) {
          this.#addKeys(this.#references.ofModel(name), 'Background');
        }
        return;
      case 'APIKey':
      case 'MasterKey':
        this.#references.replace(change.before, change.after);
        if (isForeign(change.before, change.after) || haveHashesChanged(change.before, change.after)) {
          this.#add(change.kind, change, 'Urgent');
        }
        this.#wakeRivals(change.before, change.after);
        return;
      case 'Credentials':
        this.#add('UpstreamNode', change, 'Urgent');
        return;
      case 'Secret':
        this.#addKeys(this.#references.ofSecret(change.namespace, change.name), 'Urgent');
        if (change.name === sealingSecretName && change.namespace === this.#homeNamespace) {
          this.#wakeSealing('Urgent');
        }
        return;
      case 'Sealing':
        this.#wakeSealing('Urgent');
        return;
      case 'Rejection':
        this.#add(change.of, change, 'Urgent');
        return;
    }
  }

  #wakeSealing(urgency: Urgency): void {
    this.#queues.Sealing.add(`${this.#homeNamespace}/${sealingSecretName}`, urgency);
  }

  #add(kind: Kind, { namespace, name }: { namespace: string; name: string }, urgency: Urgency): void {
    this.#queues[kind].add(`${namespace}/${name}`, urgency);
  }

  #addKeys(keys: Iterable<KeyReference>, urgency: Urgency): void {
    for (const { kind, id } of keys) this.#queues[kind].add(id, urgency);
  }

  /** When a claim of a hash is added or removed, the other claimants may win or lose it. */
  #wakeRivals(before: Key | undefined, after: Key | undefined): void {
    const [old, now] = [claimsOf(before), claimsOf(after)];
    const self = (after ?? before)?.metadata;
    for (const hash of unshared(old, now)) {
      for (const { kind, metadata } of this.#store.claims(hash)) {
        const isSelf = metadata.name === self?.name && metadata.namespace === self.namespace;
        if (!isSelf || kind !== (after ?? before)?.kind) this.#add(kind, metadata, 'Urgent');
      }
    }
  }
}

/** The entries that are in only one of the two. */
function unshared(a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> {
  return new Set([...[...a].filter((each) => !b.has(each)), ...[...b].filter((each) => !a.has(each))]);
}

function claimsOf(key: Key | undefined): Set<string> {
  if (key === undefined || key.metadata.deletionTimestamp !== undefined) return new Set();
  const issued = (key.status?.hashes ?? []).map(({ hash }) => hash);
  return new Set(key.spec.hash === undefined ? issued : [key.spec.hash, ...issued]);
}

/** Whether a change is more than a status write. */
function isForeign(before: ResourceOf[Kind] | undefined, after: ResourceOf[Kind] | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  const [old, now] = [before.metadata, after.metadata];
  return (
    !isSameGeneration(old, now) ||
    old.annotations?.[syncRequestAnnotation] !== now.annotations?.[syncRequestAnnotation] ||
    old.annotations?.[adoptAnnotation] !== now.annotations?.[adoptAnnotation]
  );
}

/**
 * Whether the hashes in the status changed: a hash that another writer added would be accepted until the next change of the
 * key. Our own writes cause one more reconcile for each key that is issued.
 */
function haveHashesChanged(before: Key | undefined, after: Key | undefined): boolean {
  return !isDeepStrictEqual(before?.status?.hashes, after?.status?.hashes);
}

/** Model names that a change of a node may add to or remove from what allowlists find. */
function changedNames(before: UpstreamNode | undefined, after: UpstreamNode | undefined): Set<string> {
  if (servesAlike(before, after)) return new Set();
  const old = new Set(before === undefined ? [] : servedNames(before).keys());
  const now = new Set(after === undefined ? [] : servedNames(after).keys());
  const isSameReach = isDeepStrictEqual(before?.spec.callerNamespaces, after?.spec.callerNamespaces);
  return isSameReach ? unshared(old, now) : new Set([...old, ...now]);
}
