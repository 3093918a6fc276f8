import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { type ResourceAddress, resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import { createObject, deleteObject, getObject, mergePatch, serverSideApply } from '../../kube/verbs.ts';
import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import type { StoreMetrics } from '../../observe/metrics.ts';
import type { ApiKey } from '../../resources/api-key.ts';
import { apiVersion, parseStored } from '../../resources/parse.ts';
import type { Resource } from '../../resources/resource.ts';
import type { Secret } from '../../resources/secret.ts';
import { compact } from '../compact.ts';
import { Content, isSameVersion } from '../content.ts';
import { contentView } from '../content-view.ts';
import { fitHeapGrowth, trimHeap } from '../heap-growth.ts';
import { keepUnchanged } from '../keep-unchanged.ts';
import { openSealed } from '../open-sealed.ts';
import { kinds, resourceAddress } from '../resource-address.ts';
import { sealingSecretName } from '../sealing.ts';
import { type Kind, type ResourceOf, type Store, StoreError } from '../store.ts';
import { type FirstList, FirstLists } from './first-lists.ts';
import { followSecrets } from './kubernetes-secrets.ts';
import { OwnKeys } from './own-keys.ts';
import { storedConditions } from './stored-conditions.ts';
import { toStoreError } from './to-store-error.ts';

const fieldManager = 'modelgateway-controller';
const writeTimeoutMs = 10_000;

function coreAddress(plural: 'secrets' | 'configmaps', namespace?: string, name?: string): ResourceAddress {
  return { group: '', version: 'v1', plural, namespace, name };
}

/**
 * The resources of a cluster: one watch per kind and namespace feeds the content; writes go to the API server and are
 * visible here before they settle. While the API server is away the last content stays, for days if need be.
 *
 * Secrets are watched by their metadata alone, and read whole only where a node names them, so that a gateway never
 * holds a Secret it has no use for. Runs until `signal` aborts.
 */
export function openKubernetesStore(options: {
  client: KubeClient;
  namespaces: readonly string[] | 'all';
  /**
   * The namespaces whose Secrets may be read, the sealing Secret aside: in others none is watched or asked for. Undefined
   * for all that are served.
   */
  secretNamespaces?: readonly string[] | undefined;
  homeNamespace: string;
  events: EventRecorder;
  log: Log;
  metrics: StoreMetrics;
  /** Reports what an object or a listener to changes throws. */
  internalErrors: InternalErrors;
  now: () => number;
  signal: AbortSignal;
}): Store {
  const { client, namespaces, homeNamespace, events, log, metrics, internalErrors, now, signal } = options;
  const scopes = namespaces === 'all' ? [undefined] : namespaces;
  const mayRead = (namespace: string): boolean => options.secretNamespaces?.includes(namespace) ?? true;
  const secretScopes =
    namespaces === 'all' ? (options.secretNamespaces ?? [undefined]) : namespaces.filter(mayRead);
  const secrets = followSecrets({
    client,
    log,
    signal,
    touch: (ns, name) => content.touchSecret(ns, name),
    unwatched: (ns) => touchKeySecrets(content, ns),
  });
  const content: Content = new Content({
    log,
    internalErrors,
    sealingNamespace: homeNamespace,
    openSealed,
    now,
    wantSecret: (namespace, name, wanted) => {
      if (mayRead(namespace)) secrets.want(namespace, name, wanted, content);
      else if (wanted) content.forbidSecret(namespace, name);
    },
  });
  const own = new OwnKeys(now);
  const firstLists = new FirstLists();
  const counts = new Map<Kind, number>();

  const read = (kind: Kind, document: unknown): Resource | undefined => {
    const said = metaOf(document);
    const { namespace, name, resourceVersion, deletionTimestamp } = said;
    const there = content.get(kind, namespace, name);
    // Another object of the same name is no later version of this one: a key that was deleted must not live on in it.
    const good = there?.metadata.uid === said.uid ? there : undefined;
    // What we wrote comes twice, as the answer and by the watch; and all that there is comes again with a new list.
    if (good !== undefined && isSameVersion(good.metadata, said)) return good;
    const parsed = parseStored(document);
    if ('resource' in parsed) {
      content.accept(kind, namespace, name);
      const taken = compact(parsed.resource, document);
      return good === undefined ? taken : keepUnchanged(good, taken);
    }
    const { problems } = parsed;
    const { uid, generation } = said;
    const metadata = { namespace, name, uid, resourceVersion, generation };
    if (content.reject({ kind, metadata, conditions: storedConditions(document), problems })) {
      metrics.rejected(kind);
      log.error(
        { kind, namespace, name, problems },
        'Rejected an object that does not parse; its last good version stays',
      );
    }
    if (good === undefined) return undefined;
    // Revoked or taken out, whatever else is wrong with it: written by a newer version, perhaps.
    const newest = { ...good.metadata, resourceVersion };
    if (deletionTimestamp !== undefined) return { ...good, metadata: { ...newest, deletionTimestamp } };
    return isTurnedOff(document)
      ? ({ ...good, metadata: newest, spec: { ...good.spec, enabled: false } } as Resource)
      : good;
  };
  const take = (resource: Resource | undefined): void => {
    if (resource === undefined || resource.kind === 'Secret') return;
    if (own.isDeleted(resource.metadata.uid)) return;
    content.set(resource);
  };

  /** A key as it is here now, which may be later than it was made; none if it is gone. */
  const current = ({ metadata: { namespace, name, uid } }: ApiKey): ApiKey[] => {
    const key = content.get('APIKey', namespace, name);
    return key !== undefined && key.metadata.uid === uid ? [key] : [];
  };

  const followKind = (kind: Kind, namespace: string | undefined, first: FirstList): Promise<void> =>
    reflect({
      client,
      path: resourcePath(resourceAddress(kind, namespace)),
      slim: (document) => read(kind, document),
      signal,
      sink: {
        replace: (objects, listVersion) => {
          const listed = (objects as (ResourceOf[typeof kind] | undefined)[]).filter(
            (object) => object !== undefined && !own.isDeleted(object.metadata.uid),
          ) as ResourceOf[typeof kind][];
          const newer = kind === 'APIKey' ? [...own.newerThan(listVersion, namespace)].flatMap(current) : [];
          content.replaceAll(kind, [...listed, ...newer], namespace);
          metrics.synced(kind, true);
          first.filled();
        },
        set: (object) => take(object as Resource | undefined),
        remove: (object) => {
          const resource = object as Resource | undefined;
          if (resource !== undefined)
            content.remove(kind, resource.metadata.namespace, resource.metadata.name);
        },
      },
      onEvent: () => metrics.event(kind, now()),
      onRelist: () => metrics.relisted(kind),
      onTurnedBack: () => own.forgetAll(),
      onGone: () =>
        log.error(
          { kind, namespace },
          'The definition of this kind is gone, and its objects with it; apply the CRDs',
        ),
      onRestart: (reason, error, waitMs) => {
        metrics.watchRestarted(kind, reason);
        first.failed(error);
        const fields = { kind, namespace, reason, err: error, waitMs: Math.round(waitMs) };
        if (reason === 'closed' || reason === 'expired') log.debug(fields, 'Watch ended; it begins anew');
        else log.warn(fields, 'Watch failed; the last content stays in force until it works again');
      },
      onSinkError: (error) => internalErrors('object', error),
    });

  const start = async (): Promise<void> => {
    for (const kind of kinds) metrics.synced(kind, false);
    fitHeapGrowth(true);
    const filled = scopes.flatMap((namespace) =>
      kinds.map((kind) =>
        untilFilled(firstLists.wait(kind, namespace), (first) => followKind(kind, namespace, first)),
      ),
    );
    filled.push(
      ...secretScopes.map((namespace) =>
        untilFilled(firstLists.wait('Secret', namespace), (first) =>
          secrets.follow(namespace, content, first),
        ),
      ),
      untilFilled(firstLists.wait(`Secret ${sealingSecretName}`, homeNamespace), (first) =>
        secrets.followOne(homeNamespace, sealingSecretName, content, first),
      ),
    );
    await Promise.all(filled);
    await secrets.settled();
    await content.credentialsSettled();
    trimHeap();
    fitHeapGrowth(false);
    content.markSynced();
  };
  // Nothing in it rejects; the log line is for the fault that nobody thought of.
  start().catch((error: unknown) => log.error({ err: error }, 'The store could not start'));

  content.subscribe((change) => {
    if (!('after' in change || 'before' in change)) return;
    const difference = (change.after === undefined ? 0 : 1) - (change.before === undefined ? 0 : 1);
    if (difference === 0) return;
    const count = (counts.get(change.kind) ?? 0) + difference;
    counts.set(change.kind, count);
    metrics.objects(change.kind, count);
  });

  const parsedSecret = (document: unknown): Secret => {
    const parsed = parseStored(document);
    if ('resource' in parsed && parsed.resource.kind === 'Secret') return parsed.resource;
    throw new StoreError('Invalid', 'The API server answered with something that is no Secret.');
  };
  const call = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => Promise.reject(toStoreError(error)));

  return Object.assign(contentView(content), {
    unsyncedReason: () =>
      content.synced ? undefined : (firstLists.missing() ?? 'some Secrets that nodes name are not read yet'),
    async writeStatus(kind, resource, status, callSignal) {
      const { namespace, name, uid, resourceVersion } = resource.metadata;
      const path = resourcePath({ ...resourceAddress(kind, namespace, name), subresource: 'status' });
      // The version too: for `/status` of a custom resource the API server pays no heed to another uid, so the status
      // of a deleted object, with the hashes of its keys, would go to the one that took its name.
      const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
      const options = { fieldManager, force: true, signal: callSignal, timeoutMs: writeTimeoutMs };
      const answer = await call(serverSideApply(client, path, body, options));
      // Only over the version that the write was decided on: a newer one from the watch must not be undone.
      if (content.get(kind, namespace, name) === resource) take(read(kind, answer));
    },

    rejection: content.rejection.bind(content),
    rejections: content.rejections.bind(content),

    async writeConditions({ kind, metadata }, conditions, callSignal) {
      const { namespace, name, uid, resourceVersion, generation } = metadata;
      const path = resourcePath({ ...resourceAddress(kind, namespace, name), subresource: 'status' });
      // No server-side apply: the API server refuses it for an object that has a field of another type than its schema says.
      const status = { observedGeneration: generation, conditions };
      const body = { metadata: { uid, resourceVersion }, status };
      try {
        await mergePatch(client, path, body, { fieldManager, signal: callSignal, timeoutMs: writeTimeoutMs });
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) content.accept(kind, namespace, name);
        else throw toStoreError(error);
      }
    },

    async readSecret(namespace, name, callSignal) {
      const isSealing = namespace === homeNamespace && name === sealingSecretName;
      if (!mayRead(namespace) && !isSealing) {
        throw new StoreError(
          'Forbidden',
          'Secrets of this namespace are not granted; name it with --secret-namespace (chart: watch.secretNamespaces).',
        );
      }
      try {
        const path = resourcePath(coreAddress('secrets', namespace, name));
        return parsedSecret(await getObject(client, path, { signal: callSignal, timeoutMs: writeTimeoutMs }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw toStoreError(error);
      }
    },

    async createSecret(secret, callSignal) {
      const path = resourcePath(coreAddress('secrets', secret.metadata.namespace));
      return parsedSecret(
        await call(
          createObject(client, path, secret, { fieldManager, signal: callSignal, timeoutMs: writeTimeoutMs }),
        ),
      );
    },

    async applySecret({ apiVersion: version, kind, metadata, data }, callSignal) {
      const { namespace, name, uid, resourceVersion, labels, annotations, ownerReferences } = metadata;
      const path = resourcePath(coreAddress('secrets', namespace, name));
      // Only what we own: finalizers and entries of others are not ours to write.
      const ours = { namespace, name, uid, resourceVersion, labels, annotations, ownerReferences };
      const body = { apiVersion: version, kind, metadata: ours, data };
      const options = { fieldManager, force: true, signal: callSignal, timeoutMs: writeTimeoutMs };
      return parsedSecret(await call(serverSideApply(client, path, body, options)));
    },

    async ownSecret({ metadata: { namespace, name, uid, resourceVersion } }, ownerReferences, callSignal) {
      const path = resourcePath(coreAddress('secrets', namespace, name));
      // An apply cannot remove the reference to a former owner, and the API server admits one controller alone.
      const body = { metadata: { uid, resourceVersion, ownerReferences } };
      const options = { signal: callSignal, timeoutMs: writeTimeoutMs };
      return parsedSecret(await call(mergePatch(client, path, body, options)));
    },

    async publishSealingRecipient(recipient, callSignal) {
      const path = resourcePath(coreAddress('configmaps', homeNamespace, sealingSecretName));
      const options = { signal: callSignal, timeoutMs: writeTimeoutMs };
      const found = await getObject(client, path, options).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw toStoreError(error);
      });
      if ((found as { data?: { recipient?: unknown } } | undefined)?.data?.recipient === recipient) return;
      const metadata = { name: sealingSecretName, namespace: homeNamespace };
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { recipient } };
      await call(serverSideApply(client, path, body, { ...options, fieldManager, force: true }));
    },

    async createKey(key, callSignal) {
      const path = resourcePath(resourceAddress('APIKey', key.metadata.namespace));
      const answer = await call(
        createObject(client, path, key, { signal: callSignal, timeoutMs: writeTimeoutMs }),
      );
      const created = read('APIKey', answer) as ApiKey | undefined;
      if (created === undefined)
        throw new StoreError('Invalid', 'The API server answered with something that is no APIKey.');
      own.noteMade(created);
      take(created);
      return created;
    },

    async deleteKey(key, callSignal) {
      const { namespace, name, uid } = key.metadata;
      const path = resourcePath(resourceAddress('APIKey', namespace, name));
      await call(deleteObject(client, path, { uid, signal: callSignal, timeoutMs: writeTimeoutMs }));
      if (uid !== undefined) own.noteDeleted(uid);
      content.remove('APIKey', namespace, name);
    },

    recordEvent({ regarding, ...event }) {
      events.record({ ...event, regarding: { apiVersion, ...regarding } });
    },
  } satisfies Omit<Store, keyof ReturnType<typeof contentView>> &
    Pick<Store, 'unsyncedReason' | 'rejection' | 'rejections' | 'writeConditions'>);
}

/** Starts `run`, which follows objects until the process ends. Settles when the first list is complete. */
async function untilFilled(first: FirstList, run: (first: FirstList) => Promise<void>): Promise<void> {
  // Awaiting `run` too lets its errors reach the caller. If the process stops first, the list is never complete.
  await Promise.race([first.done, run(first).then(() => first.done)]);
}

/** Reports the Secret of every key as changed: without a watch nothing else says that one was deleted, which revokes its key. */
function touchKeySecrets(content: Content, namespace: string | undefined): void {
  for (const kind of ['APIKey', 'MasterKey'] as const) {
    for (const { metadata, spec } of content.list(kind, namespace)) {
      if (spec.secretName !== undefined) content.touchSecret(metadata.namespace, spec.secretName);
    }
  }
}

function isTurnedOff(document: unknown): boolean {
  return (document as { spec?: { enabled?: unknown } | null } | null)?.spec?.enabled === false;
}

/** What can be said of an object that does not parse. */
function metaOf(document: unknown): {
  namespace: string;
  name: string;
  uid: string | undefined;
  resourceVersion: string | undefined;
  generation: number | undefined;
  deletionTimestamp: string | undefined;
} {
  const { metadata } = (document ?? {}) as { metadata?: Record<string, unknown> };
  const text = (field: string): string | undefined =>
    typeof metadata?.[field] === 'string' ? metadata[field] : undefined;
  return {
    namespace: text('namespace') ?? '',
    name: text('name') ?? '',
    uid: text('uid'),
    resourceVersion: text('resourceVersion'),
    generation: typeof metadata?.['generation'] === 'number' ? metadata['generation'] : undefined,
    deletionTimestamp: text('deletionTimestamp'),
  };
}
