import type { Claims } from '../store/claims.ts';
import { sealingSecretName } from '../store/sealing.ts';
import { type Store, StoreError } from '../store/store.ts';

/** What the controller reads and writes of a store. */
export type ControllerStore = Pick<
  Store,
  | 'get'
  | 'list'
  | 'node'
  | 'claims'
  | 'served'
  | 'sealingIdentities'
  | 'subscribe'
  | 'whenSynced'
  | 'writeStatus'
  | 'secretVersion'
  | 'readSecret'
  | 'createSecret'
  | 'applySecret'
  | 'ownSecret'
  | 'publishSealingRecipient'
  | 'rejection'
  | 'rejections'
  | 'writeConditions'
  | 'recordEvent'
>;

/**
 * The store, but every write is refused once another replica may hold the lease, and in namespaces that another installation
 * serves. Timers fire late if the event loop stalls, so both are checked right before each write.
 */
export function fencedStore(
  store: Store,
  isLeaderValid: () => boolean,
  claims: Claims | undefined,
): ControllerStore {
  const acts = (namespace: string): boolean => claims?.acts(namespace) ?? true;
  const lead = (): void => {
    if (!isLeaderValid())
      throw new StoreError('Unavailable', 'This process no longer leads; nothing was written');
  };
  const check = ({ namespace, name }: { namespace: string; name: string }): void => {
    lead();
    // The sealing Secret is the installation's own, even if another one serves the objects of its home namespace.
    if (!acts(namespace) && name !== sealingSecretName)
      throw new StoreError(
        'Conflict',
        `Another installation serves namespace "${namespace}"; nothing was written`,
      );
  };
  return {
    get: (kind, namespace, name) => store.get(kind, namespace, name),
    list: (kind, namespace) => store.list(kind, namespace),
    node: (namespace, name) => store.node(namespace, name),
    claims: (hash) => store.claims(hash),
    served: (name) => store.served(name),
    sealingIdentities: () => store.sealingIdentities(),
    subscribe: (listener) => store.subscribe(listener),
    whenSynced: (signal) => store.whenSynced(signal),
    secretVersion: (namespace, name) => store.secretVersion?.(namespace, name),
    readSecret: (namespace, name, signal) => store.readSecret(namespace, name, signal),
    rejection: (kind, namespace, name) => store.rejection?.(kind, namespace, name),
    rejections: () => store.rejections?.() ?? [],
    writeConditions: async (rejection, conditions, signal) => {
      check(rejection.metadata);
      await store.writeConditions?.(rejection, conditions, signal);
    },
    recordEvent: (event) => {
      if (acts(event.regarding.namespace)) store.recordEvent(event);
    },
    writeStatus: async (kind, resource, status, signal) => {
      check(resource.metadata);
      await store.writeStatus(kind, resource, status, signal);
    },
    createSecret: async (secret, signal) => {
      check(secret.metadata);
      return store.createSecret(secret, signal);
    },
    applySecret: async (secret, signal) => {
      check(secret.metadata);
      return store.applySecret(secret, signal);
    },
    ownSecret: async (secret, owners, signal) => {
      check(secret.metadata);
      return store.ownSecret(secret, owners, signal);
    },
    publishSealingRecipient: async (recipient, signal) => {
      lead();
      await store.publishSealingRecipient(recipient, signal);
    },
  };
}
