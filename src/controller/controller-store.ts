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
 * The store, but every write is refused once another replica may hold the lease. Timers fire late if the event loop stalls,
 * so the lease is checked right before each write.
 */
export function fencedStore(store: Store, isLeaderValid: () => boolean): ControllerStore {
  const fenced =
    <A extends unknown[], R>(write: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (!isLeaderValid())
        throw new StoreError('Unavailable', 'This process no longer leads; nothing was written');
      return write(...given);
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
    readSecret: (namespace, name, signal) => store.readSecret(namespace, name, signal),
    rejection: (kind, namespace, name) => store.rejection?.(kind, namespace, name),
    rejections: () => store.rejections?.() ?? [],
    writeConditions: fenced(async (...given) => store.writeConditions?.(...given)),
    recordEvent: (event) => store.recordEvent(event),
    writeStatus: async (kind, resource, status, signal) => {
      await fenced(() => store.writeStatus(kind, resource, status, signal))();
    },
    createSecret: fenced((secret, signal) => store.createSecret(secret, signal)),
    applySecret: fenced((secret, signal) => store.applySecret(secret, signal)),
    ownSecret: fenced((secret, owners, signal) => store.ownSecret(secret, owners, signal)),
    publishSealingRecipient: fenced((recipient, signal) => store.publishSealingRecipient(recipient, signal)),
  };
}
