import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { pause, systemClock } from '../../kube/clock.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { limitInFlight } from '../../kube/in-flight.ts';
import { type ResourceAddress, resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import { createObject, deleteObject, getObject, mergePatch, serverSideApply } from '../../kube/verbs.ts';
import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import type { StoreMetrics } from '../../observe/store-metrics.ts';
import type { ApiKey } from '../../resources/api-key.ts';
import { classLabel } from '../../resources/class-label.ts';
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
import type { AppliedVersions } from './applied-versions.ts';
import { defaultPatience, type FollowedList, FollowedLists, type Patience } from './followed-lists.ts';
import { followSecrets } from './kubernetes-secrets.ts';
import { opensOtherwise } from './opens-otherwise.ts';
import { OwnKeys } from './own-keys.ts';
import { followSelected, type SelectedNamespaces } from './selected-namespaces.ts';
import { storedConditions } from './stored-conditions.ts';
import { toStoreError } from './to-store-error.ts';

const fieldManager = 'modelgateway-controller';
const writeTimeoutMs = 10_000;
/** In how many other namespaces the permission is checked before a namespace is dropped. */
const mostAsked = 5;
/** Lists in flight at once. Without a limit fifty namespaces would start two hundred. */
const mostLists = 20;

function coreAddress(plural: 'secrets' | 'configmaps', namespace?: string, name?: string): ResourceAddress {
  return { group: '', version: 'v1', plural, namespace, name };
}

/**
 * The resources of a cluster. One watch per kind and namespace feeds the content. Writes go to the API server, and are
 * visible here before they settle. While the API server is away the last content stays, for days if necessary.
 *
 * Only the metadata of Secrets is watched. Their data is read only if a node names them, so that a gateway never holds a
 * Secret that it does not need. Runs until `signal` aborts.
 */
export function openKubernetesStore(options: {
  client: KubeClient;
  namespaces: readonly string[] | 'all';
  /** Also serves the namespaces with these labels, as kubectl takes them; without it the list above is all. */
  namespaceSelector?: string | undefined;
  /**
   * The namespaces whose Secrets may be read, apart from the sealing Secret; in others no Secret is watched or read.
   * Undefined means all namespaces that are served.
   */
  secretNamespaces?: readonly string[] | undefined;
  homeNamespace: string;
  /** Only objects with this value of the class label exist here; undefined for those without the label. */
  className?: string | undefined;
  events: EventRecorder;
  log: Log;
  metrics: StoreMetrics;
  /** Reports errors that the code for one object, or a listener to changes, throws. */
  internalErrors: InternalErrors;
  now: () => number;
  /** Gets the versions that are in use. */
  applied?: AppliedVersions | undefined;
  /** After how long a namespace that fails is served as empty. */
  patience?: Patience | undefined;
  signal: AbortSignal;
}): Store {
  const { client, namespaces, homeNamespace, events, log, metrics, internalErrors, now, signal } = options;
  const { patience = defaultPatience, className, applied } = options;
  const scopes = namespaces === 'all' ? [undefined] : namespaces;
  const mayRead = (namespace: string): boolean => options.secretNamespaces?.includes(namespace) ?? true;
  const secretScopes =
    namespaces === 'all' ? (options.secretNamespaces ?? [undefined]) : namespaces.filter(mayRead);
  const secrets = followSecrets({
    client,
    log,
    metrics,
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
  const listInTurn = limitInFlight(mostLists);
  const own = new OwnKeys(now);
  const lists = new FollowedLists({ log, clock: systemClock, now, patience, signal });
  const counts = new Map<Kind, number>();

  /** The last good version of an object that does not parse and was switched off since: it may be switched on again. */
  const lastGood = new WeakMap<ResourceOf[Kind], ResourceOf[Kind]>();
  const read = (kind: Kind, document: unknown): Resource | undefined => {
    const said = metaOf(document);
    const { namespace, name, resourceVersion, deletionTimestamp } = said;
    const there = content.get(kind, namespace, name);
    // A new object of the same name is not a version of the old one: it must not inherit the hashes of a deleted key.
    const good = there?.metadata.uid === said.uid ? there : undefined;
    // The same version arrives again: our own writes by the watch, and every object with a new list.
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
    // `deletionTimestamp` and `enabled: false` take effect even if the rest does not parse, as in a newer version's object.
    const newest = { ...good.metadata, resourceVersion };
    if (deletionTimestamp !== undefined) return { ...good, metadata: { ...newest, deletionTimestamp } };
    const last = lastGood.get(good) ?? good;
    if (!isTurnedOff(document)) return last === good ? good : ({ ...last, metadata: newest } as Resource);
    const off = { ...last, metadata: newest, spec: { ...last.spec, enabled: false } } as ResourceOf[Kind];
    lastGood.set(off, last);
    return off;
  };
  const take = (resource: Resource | undefined): void => {
    if (resource === undefined || resource.kind === 'Secret') return;
    if (own.isDeleted(resource.metadata.uid)) return;
    content.set(resource);
  };

  /** The newest version of a key; empty if the key no longer exists. */
  const current = ({ metadata: { namespace, name, uid } }: ApiKey): ApiKey[] => {
    const key = content.get('APIKey', namespace, name);
    return key !== undefined && key.metadata.uid === uid ? [key] : [];
  };

  /** Follows one list until `stopped` aborts. */
  const followOnce = (
    kind: Kind,
    namespace: string | undefined,
    list: FollowedList,
    drop: () => void,
    stopped: AbortSignal,
  ) =>
    reflect({
      client,
      path: resourcePath(resourceAddress(kind, namespace)),
      query: { labelSelector: className === undefined ? `!${classLabel}` : `${classLabel}=${className}` },
      inTurn: listInTurn,
      slim: (document) => read(kind, document),
      signal: stopped,
      sink: {
        replace: (objects, listVersion) => {
          // A namespace that is no longer served was emptied.
          if (stopped.aborted) return;
          const listed = (objects as (ResourceOf[typeof kind] | undefined)[]).filter(
            (object) => object !== undefined && !own.isDeleted(object.metadata.uid),
          ) as ResourceOf[typeof kind][];
          const newer = kind === 'APIKey' ? [...own.newerThan(listVersion, namespace)].flatMap(current) : [];
          content.replaceAll(kind, [...listed, ...newer], namespace);
          list.filled();
        },
        set: (object) => {
          if (!stopped.aborted) take(object as Resource | undefined);
        },
        remove: (object) => {
          const resource = object as Resource | undefined;
          if (resource !== undefined)
            content.remove(kind, resource.metadata.namespace, resource.metadata.name);
        },
      },
      onOpen: () => list.opened(),
      onEvent: () => list.received(),
      onVersion: (version) => {
        if (!stopped.aborted) applied?.set(kind, namespace, version);
      },
      onRelist: () => metrics.relisted(kind),
      onTurnedBack: () => own.forgetAll(),
      onGone: () =>
        log.error(
          { kind, namespace },
          'The CRD of this kind was deleted, and with it all objects of the kind; apply the CRDs',
        ),
      onRestart: (reason, error, waitMs) => {
        metrics.watchRestarted(kind, reason);
        const fields = { kind, namespace, reason, err: error, waitMs: Math.round(waitMs) };
        if (list.restarts(reason, error))
          log.warn(fields, 'Watch failed; the last content stays in force until it works again');
        else log.debug(fields, 'Watch ended; it starts again');
        if (list.mayBeDropped()) drop();
      },
      onSinkError: (error) => internalErrors('object', error),
    });

  /**
   * Whether the API server still lets us list a kind in another namespace: if it does, one namespace is lost, if not, all
   * permissions are. Only a new request shows it, because a watch stays open for minutes after its permission was removed.
   */
  const isGrantedElsewhere = async (kind: Kind, namespace: string): Promise<boolean> => {
    for (const other of lists.working(namespace).slice(0, mostAsked)) {
      const path = resourcePath(resourceAddress(kind, other));
      const answer = client.request({ method: 'GET', path, query: { limit: 1 }, signal });
      if (
        await answer.then(
          () => true,
          () => false,
        )
      )
        return true;
    }
    return false;
  };

  /** Follows a kind in a namespace, or in all. Drops the content of a namespace that was probably deleted. */
  const followKind = async (
    kind: Kind,
    namespace: string | undefined,
    ended: AbortSignal = signal,
  ): Promise<void> => {
    const list = lists.add(kind, namespace, 'Resources');
    ended.addEventListener('abort', list.ended, { once: true });
    applied?.set(kind, namespace, undefined);
    while (!ended.aborted) {
      const again = new AbortController();
      let isAsking = false;
      const drop = async (): Promise<void> => {
        if (namespace === undefined || isAsking) return;
        isAsking = true;
        if (await isGrantedElsewhere(kind, namespace)) {
          list.dropped();
          content.replaceAll(kind, [], namespace);
          applied?.set(kind, namespace, undefined);
          again.abort();
        }
        isAsking = false;
      };
      const dropSafely = (): void => void drop().catch((error: unknown) => internalErrors('object', error));
      await followOnce(kind, namespace, list, dropSafely, AbortSignal.any([ended, again.signal]));
    }
  };

  const followSecretsOf = (namespace: string | undefined, ended: AbortSignal = signal): void => {
    const list = lists.add('Secret', namespace, 'Wakes');
    ended.addEventListener('abort', list.ended, { once: true });
    void secrets.follow(namespace, content, list, ended);
  };

  /** The namespaces that are served because of their labels. */
  const selected = new Map<string, AbortController>();
  const serve = (namespace: string): void => {
    if (namespaces === 'all' || namespaces.includes(namespace) || selected.has(namespace)) return;
    const own = new AbortController();
    selected.set(namespace, own);
    const ended = AbortSignal.any([signal, own.signal]);
    for (const kind of kinds) void followKind(kind, namespace, ended);
    if (mayRead(namespace)) followSecretsOf(namespace, ended);
  };
  const leave = (namespace: string): void => {
    selected.get(namespace)?.abort();
    if (!selected.delete(namespace)) return;
    for (const kind of kinds) content.replaceAll(kind, [], namespace);
    applied?.forget(namespace);
    for (const { kind, metadata } of [...content.rejections()]) {
      if (metadata.namespace === namespace) content.accept(kind, namespace, metadata.name);
    }
  };
  let selection: SelectedNamespaces | undefined;

  const start = async (): Promise<void> => {
    for (const kind of [...kinds, 'Secret']) metrics.begin(kind);
    const { namespaceSelector: selector } = options;
    if (selector !== undefined) {
      const list = lists.add('Namespace', undefined, 'Wakes');
      selection = followSelected({ client, selector, list, log, signal, added: serve, removed: leave });
      // A pod that served none of them would replace one that serves them all.
      await selection.listed;
    }
    metrics.lists(() => lists.standings());
    metrics.unreadableSecrets(() => secrets.unreadable());
    fitHeapGrowth(true);
    // None of these is awaited, because they run until the process ends.
    for (const namespace of scopes) for (const kind of kinds) void followKind(kind, namespace);
    for (const namespace of secretScopes) followSecretsOf(namespace);
    const sealing = lists.add(`Secret ${sealingSecretName}`, homeNamespace, 'Sealing');
    void secrets.followOne(homeNamespace, sealingSecretName, content, sealing);
    await lists.ready;
    await secretsRead();
    await content.credentialsSettled();
    trimHeap();
    fitHeapGrowth(false);
    content.markSynced();
    for (const remark of classRemarks()) log.warn({ class: className }, remark);
  };
  /** Settles when every Secret that nodes name was read, or if some cannot be read although the API server answers. */
  const secretsRead = async (): Promise<void> => {
    const settled = secrets.settled().then(() => true);
    const mayGoOn = () =>
      pause(systemClock, patience.failingMs, signal).then(() => lists.working().length > 0);
    while (!(await Promise.race([settled, mayGoOn()])) && !signal.aborted);
  };
  /** Reports a class without objects, which usually is a misspelt name. */
  const classRemarks = (): string[] => {
    const isEmpty = kinds.every((kind) => (counts.get(kind) ?? 0) === 0);
    if (className === undefined || !content.synced || !isEmpty) return [];
    return [`no object has the class ${className}: label those to be served with ${classLabel}=${className}`];
  };
  // Rejects only by a mistake in this code, which is then logged.
  start().catch((error: unknown) => log.error({ err: error }, 'The store could not start'));

  content.subscribe((change) => {
    if (!('after' in change || 'before' in change)) return;
    if (change.kind !== 'UpstreamNode' && opensOtherwise(change.before, change.after)) {
      applied?.noteKeyChange();
    }
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
      content.synced
        ? undefined
        : (selection?.missing() ?? lists.missing() ?? 'some Secrets that nodes name are not read yet'),
    remarks: () => [
      ...classRemarks(),
      ...(selection?.remarks() ?? []),
      ...lists.remarks(),
      ...secrets.remarks(),
    ],
    async writeStatus(kind, resource, status, callSignal) {
      const { namespace, name, uid, resourceVersion } = resource.metadata;
      const path = resourcePath({ ...resourceAddress(kind, namespace, name), subresource: 'status' });
      // The uid alone is not enough: for `/status` of a custom resource the API server ignores a different uid. The status of
      // a deleted object, with the hashes of its keys, would be written to a new object of the same name.
      const body = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
      const options = { fieldManager, force: true, signal: callSignal, timeoutMs: writeTimeoutMs };
      const answer = await call(serverSideApply(client, path, body, options));
      // Only if the store still has the version that was written over: a newer one from the watch must not be undone.
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

    secretVersion: (namespace, name) => secrets.version(namespace, name),

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
      // Only our own fields: an apply would otherwise take ownership of finalizers and of entries that others wrote.
      const ours = { namespace, name, uid, resourceVersion, labels, annotations, ownerReferences };
      const body = { apiVersion: version, kind, metadata: ours, data };
      const options = { fieldManager, force: true, signal: callSignal, timeoutMs: writeTimeoutMs };
      return parsedSecret(await call(serverSideApply(client, path, body, options)));
    },

    async ownSecret({ metadata: { namespace, name, uid, resourceVersion } }, ownerReferences, callSignal) {
      const path = resourcePath(coreAddress('secrets', namespace, name));
      // Not by an apply, which cannot remove the reference to the former owner; the API server refuses two controllers.
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
      const former = (found as { data?: { recipient?: unknown } } | undefined)?.data?.recipient;
      if (former === recipient) return undefined;
      const metadata = { name: sealingSecretName, namespace: homeNamespace };
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { recipient } };
      await call(serverSideApply(client, path, body, { ...options, fieldManager, force: true }));
      return typeof former === 'string' ? former : undefined;
    },

    async createKey(key, callSignal) {
      const path = resourcePath(resourceAddress('APIKey', key.metadata.namespace));
      const answer = await call(
        createObject(client, path, withClass(key, className), {
          signal: callSignal,
          timeoutMs: writeTimeoutMs,
        }),
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
    Pick<
      Store,
      'unsyncedReason' | 'remarks' | 'rejection' | 'rejections' | 'writeConditions' | 'secretVersion'
    >);
}

/** Without the label of its class, a key would not exist for the process that made it. */
function withClass(key: ApiKey, className: string | undefined): ApiKey {
  if (className === undefined) return key;
  const labels = { ...key.metadata.labels, [classLabel]: className };
  return { ...key, metadata: { ...key.metadata, labels } };
}

/** Reports the Secret of every key as changed. Without a watch nothing else reports a deleted Secret, whose key must be revoked. */
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

/** The metadata of an object, even if the object does not parse. */
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
