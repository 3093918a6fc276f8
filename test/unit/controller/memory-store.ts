import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { appliedSecret, type Secret } from '../../../src/resources/secret.ts';
import { Content } from '../../../src/store/content.ts';
import { openSealed } from '../../../src/store/open-sealed.ts';
import {
  type Kind,
  type ResourceEvent,
  type ResourceOf,
  type Store,
  StoreError,
} from '../../../src/store/store.ts';

/** A write that the store took, in its order. */
export interface Write {
  readonly what: 'status' | 'create' | 'replace' | 'publish';
  readonly name: string;
}

export interface MemoryStore {
  readonly store: Store;
  readonly writes: Write[];
  readonly events: ResourceEvent[];
  /** The names of the Secrets that were read. */
  readonly reads: string[];
  readonly secrets: Map<string, Secret>;
  /** Declares a resource or changes its spec, as a person would: uid, creation time, generation and version are kept. */
  apply: <K extends Kind>(resource: ResourceOf[K]) => void;
  remove: (kind: Kind, namespace: string, name: string) => void;
  putSecret: (secret: Secret) => void;
  deleteSecret: (namespace: string, name: string) => void;
  /** The published recipient. */
  recipient: string | undefined;
  /** Called before each write; may throw in its place. */
  before: (write: Write) => void;
}

/** A whole store on the real content, with Secrets and versions in memory. */
export function memoryStore(now: () => number = Date.now): MemoryStore {
  const content = new Content({
    log: pino({ level: 'silent' }),
    sealingNamespace: 'home',
    openSealed,
    wantSecret: (namespace, name, wanted) => {
      if (!wanted) return;
      const secret = secrets.get(`${namespace}/${name}`);
      if (secret === undefined) content.removeSecret(namespace, name);
      else content.setSecret(secret);
    },
  });
  const secrets = new Map<string, Secret>();
  const writes: Write[] = [];
  const events: ResourceEvent[] = [];
  const truth = new Map<string, ResourceOf[Kind]>();
  let version = 0;
  const note = (write: Write): void => {
    memory.before(write);
    writes.push(write);
  };
  const nextVersion = (): string => {
    version += 1;
    return `${version}`;
  };

  const changed = (read: Secret, change: (current: Secret) => Secret): Secret => {
    const key = `${read.metadata.namespace}/${read.metadata.name}`;
    note({ what: 'replace', name: read.metadata.name });
    const current = secrets.get(key);
    if (current === undefined || current.metadata.resourceVersion !== read.metadata.resourceVersion) {
      throw new StoreError('Conflict', 'changed');
    }
    memory.putSecret(change(current));
    return secrets.get(key) ?? current;
  };

  const memory: MemoryStore = {
    writes,
    reads: [],
    events,
    secrets,
    recipient: undefined,
    before: () => {},
    apply(resource) {
      const { kind, metadata } = resource;
      const key = `${kind}/${metadata.namespace}/${metadata.name}`;
      const old = truth.get(key);
      const stored = {
        ...resource,
        ...(old?.status === undefined ? {} : { status: old.status }),
        metadata: {
          ...metadata,
          uid: old?.metadata.uid ?? metadata.uid ?? randomUUID(),
          creationTimestamp:
            old?.metadata.creationTimestamp ?? metadata.creationTimestamp ?? new Date(now()).toISOString(),
          generation:
            (old?.metadata.generation ?? 0) +
            (JSON.stringify(old?.spec) === JSON.stringify(resource.spec) ? 0 : 1),
          resourceVersion: nextVersion(),
        },
      } as ResourceOf[Kind];
      truth.set(key, stored);
      content.set(stored);
    },
    remove(kind, namespace, name) {
      truth.delete(`${kind}/${namespace}/${name}`);
      content.remove(kind, namespace, name);
    },
    putSecret(secret) {
      const stored = {
        ...secret,
        metadata: {
          ...secret.metadata,
          uid: secret.metadata.uid ?? randomUUID(),
          resourceVersion: nextVersion(),
        },
      };
      secrets.set(`${secret.metadata.namespace}/${secret.metadata.name}`, stored);
      content.setSecret(stored);
    },
    deleteSecret(namespace, name) {
      secrets.delete(`${namespace}/${name}`);
      content.removeSecret(namespace, name);
    },
    store: {
      get: (kind, namespace, name) => content.get(kind, namespace, name),
      list: (kind, namespace) => content.list(kind, namespace),
      key: (hash) => content.key(hash),
      claims: (hash) => content.claims(hash),
      served: (name) => content.served(name),
      servedNames: () => content.servedNames(),
      node: (namespace, name) => content.node(namespace, name),
      sealingIdentities: () => content.sealingIdentities(),
      get synced() {
        return content.synced;
      },
      whenSynced: (signal) => content.whenSynced(signal),
      subscribe: (listener) => content.subscribe(listener),
      async writeStatus(kind, resource, status) {
        const { namespace, name, uid, resourceVersion } = resource.metadata;
        await Promise.resolve();
        note({ what: 'status', name });
        const key = `${kind}/${namespace}/${name}`;
        const old = truth.get(key);
        if (old === undefined || old.metadata.uid !== uid) throw new StoreError('NotFound', 'gone');
        if (old.metadata.resourceVersion !== resourceVersion) throw new StoreError('Conflict', 'changed');
        const stored = {
          ...old,
          status: structuredClone(status),
          metadata: { ...old.metadata, resourceVersion: nextVersion() },
        } as ResourceOf[Kind];
        truth.set(key, stored);
        content.set(stored);
      },
      secretVersion: (namespace, name) => secrets.get(`${namespace}/${name}`)?.metadata.resourceVersion,
      async readSecret(namespace, name) {
        memory.reads.push(name);
        return structuredClone(secrets.get(`${namespace}/${name}`));
      },
      async createSecret(secret) {
        const key = `${secret.metadata.namespace}/${secret.metadata.name}`;
        note({ what: 'create', name: secret.metadata.name });
        if (secrets.has(key)) throw new StoreError('AlreadyExists', 'exists');
        memory.putSecret(secret);
        return secrets.get(key) ?? secret;
      },
      applySecret: async (secret) => changed(secret, (current) => appliedSecret(current, secret)),
      ownSecret: async (secret, ownerReferences) =>
        changed(secret, (current) => ({ ...current, metadata: { ...current.metadata, ownerReferences } })),
      async publishSealingRecipient(recipient) {
        const former = memory.recipient;
        note({ what: 'publish', name: recipient });
        memory.recipient = recipient;
        return former === recipient ? undefined : former;
      },
      createKey: async (key) => key,
      deleteKey: async () => {},
      recordEvent: (event) => events.push(event),
    },
  };
  content.markSynced();
  return memory;
}
