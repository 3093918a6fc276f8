import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { pause, systemClock } from '../../kube/clock.ts';
import { resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import { getObject } from '../../kube/verbs.ts';
import type { Log } from '../../observe/log.ts';
import type { StoreMetrics } from '../../observe/store-metrics.ts';
import { objectMetaSchema } from '../../resources/object-meta.ts';
import { parseStored } from '../../resources/parse.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Content } from '../content.ts';
import { failureText } from './failure-text.ts';
import type { FollowedList } from './followed-lists.ts';

/** Values of `Wanted.version` that no Secret has, because versions are numbers. */
const missing = 'missing';
const forbidden = 'forbidden';
/** The longest waits before a Secret is read again, after a refusal (403) and after any other failure. */
const mostRetryMs = { refused: 300_000, failed: 30_000 };

export interface FollowedSecrets {
  /** A node began or ceased to name a Secret. */
  want(namespace: string, name: string, wanted: boolean, content: Content): void;
  /** Watches the metadata of a namespace's Secrets (of all, if undefined) until the signal aborts. */
  follow(
    namespace: string | undefined,
    content: Content,
    list: FollowedList,
    stopped: AbortSignal,
  ): Promise<void>;
  /** The version of a Secret by the watch of its namespace; undefined without the Secret, and while the watch does not work. */
  version(namespace: string, name: string): string | undefined;
  /** Watches one Secret with its data. */
  followOne(namespace: string, name: string, content: Content, list: FollowedList): Promise<void>;
  /** Settles when every Secret wanted by now was read, is missing or may not be read. */
  settled(): Promise<void>;
  /** How many of the wanted Secrets the API server fails to return, by namespace. */
  unreadable(): ReadonlyMap<string, number>;
  /** A line for each Secret that the API server fails to return. */
  remarks(): readonly string[];
}

/** A Secret that nodes name. */
interface Wanted {
  /** The version last read, or `missing` or `forbidden`; undefined before the first answer. */
  version: string | undefined;
  /** Failures in a row. */
  failures: number;
  /** Why the last read failed, unless it was refused. */
  error: unknown;
  /** How often it was deleted. */
  deletions: number;
}

/** The watch of a namespace's Secrets (of all, if undefined). */
interface Watched {
  readonly namespace: string | undefined;
  /** The version of each Secret, by `namespace/name`. */
  readonly known: Map<string, string>;
  works: boolean;
}

/** How many Secrets `remarks` names. */
const mostRemarks = 20;

/**
 * Follows Secrets. Those that nodes name are read with their data, one by one. Of all others only the metadata is watched, so
 * that the controller is notified if a Secret of its own was created or deleted.
 */
export function followSecrets(options: {
  client: KubeClient;
  log: Log;
  metrics: Pick<StoreMetrics, 'relisted' | 'watchRestarted'>;
  signal: AbortSignal;
  touch: (namespace: string, name: string) => void;
  /** How long to wait before a failed read is repeated; 5 s by default. It doubles with each failure (`mostRetryMs`). */
  retryMs?: number;
  /** Called every `pollMs` while the watch of a namespace (of all, if undefined) is refused. */
  unwatched?: (namespace: string | undefined) => void;
  /** How often each Secret that nodes name is read while the watch of all Secrets fails; 60 s by default. */
  pollMs?: number;
}): FollowedSecrets {
  const { client, log, metrics, signal, touch, retryMs = 5_000, pollMs = 60_000 } = options;
  /** By `namespace/name`. */
  const wanted = new Map<string, Wanted>();
  const reading = new Map<string, Promise<void>>();
  const watched = new Set<Watched>();
  const retrying = new Set<string>();

  const readOne = async (namespace: string, name: string, content: Content): Promise<void> => {
    const id = `${namespace}/${name}`;
    while (!signal.aborted && wanted.has(id)) {
      const deletions = wanted.get(id)?.deletions;
      try {
        const path = resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace, name });
        const secret = toSecret(await getObject(client, path, { signal }));
        const entry = wanted.get(id);
        if (entry === undefined || secret === undefined) return;
        // The Secret was deleted during this read, so the answer may be from before that; no later event would remove it.
        if (entry.deletions !== deletions) continue;
        entry.failures = 0;
        entry.error = undefined;
        const { resourceVersion } = secret.metadata;
        if (resourceVersion !== undefined && entry.version === resourceVersion) return;
        entry.version = resourceVersion;
        content.setSecret(secret);
        return;
      } catch (error) {
        const entry = wanted.get(id);
        if (signal.aborted || entry === undefined) return;
        const status = error instanceof ApiError ? error.status : 0;
        if (status === 404) {
          if (entry.version !== missing) content.removeSecret(namespace, name);
          Object.assign(entry, { version: missing, failures: 0, error: undefined });
          return;
        }
        const waitMs = retryMs * 2 ** Math.min(entry.failures, 10);
        entry.failures += 1;
        const wasForbidden = entry.version === forbidden;
        const told = entry.error;
        entry.error = status === 403 ? undefined : error;
        // Logged once per change, because the node's condition and `/readyz?verbose` show it as long as it lasts.
        if (status === 403 ? !wasForbidden : told === undefined) {
          log.warn(
            { namespace, name, err: error },
            'A Secret that a node names could not be read; it is tried again',
          );
        }
        if (status === 403) {
          entry.version = forbidden;
          content.forbidSecret(namespace, name);
          // A team may name thousands of Secrets without permission, so retries wait longer each time: they must not crowd
          // out other calls. `settled` does not wait for them, so that the gateway serves the other nodes.
          retryLater(namespace, name, content, Math.min(waitMs, mostRetryMs.refused));
          return;
        }
        await pause(systemClock, Math.min(waitMs, mostRetryMs.failed), signal);
      }
    }
  };
  const retryLater = (namespace: string, name: string, content: Content, waitMs: number): void => {
    const id = `${namespace}/${name}`;
    if (retrying.has(id)) return;
    retrying.add(id);
    setTimeout(() => {
      retrying.delete(id);
      readAgain(namespace, name, content);
    }, waitMs).unref();
  };
  const readAgain = (namespace: string, name: string, content: Content): void => {
    const id = `${namespace}/${name}`;
    const before = reading.get(id) ?? Promise.resolve();
    const after = before.then(() => readOne(namespace, name, content));
    reading.set(id, after);
    after.finally(() => reading.get(id) === after && reading.delete(id)).catch(() => {});
  };

  return {
    want(namespace, name, isWanted, content) {
      const id = `${namespace}/${name}`;
      if (!isWanted) {
        wanted.delete(id);
      } else if (!wanted.has(id)) {
        wanted.set(id, { version: undefined, failures: 0, error: undefined, deletions: 0 });
        readAgain(namespace, name, content);
      }
    },

    follow(namespace, content, list, stopped) {
      const changed = (object: unknown): void => {
        const meta = metaOf(object);
        if (meta === undefined) return;
        const entry = wanted.get(`${meta.namespace}/${meta.name}`);
        if (entry === undefined) touch(meta.namespace, meta.name);
        else if (entry.version !== meta.resourceVersion) readAgain(meta.namespace, meta.name, content);
      };
      const gone = (id: string): void => {
        const [place = '', name = ''] = id.split('/');
        const entry = wanted.get(id);
        if (entry === undefined) {
          touch(place, name);
          return;
        }
        entry.version = undefined;
        entry.deletions += 1;
        content.removeSecret(place, name);
      };
      const known = new Map<string, string>();
      const watch: Watched = { namespace, known, works: false };
      watched.add(watch);
      let isBroken = false;
      // The watch of all Secrets is refused if a Role only grants single ones (`resourceNames`), and it breaks if the API
      // server cannot decrypt one of them. Single Secrets can still be read.
      const polling = setInterval(() => {
        if (!isBroken) return;
        options.unwatched?.(namespace);
        for (const [id, { version }] of wanted) {
          const [place = '', name = ''] = id.split('/');
          const isHere = namespace === undefined || place === namespace;
          if (isHere && version !== forbidden && !reading.has(id)) readAgain(place, name, content);
        }
      }, pollMs).unref();
      const end = (): void => {
        clearInterval(polling);
        watched.delete(watch);
      };
      stopped.addEventListener('abort', end, { once: true });
      return reflect({
        client,
        path: resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace }),
        metadataOnly: true,
        signal: stopped,
        sink: {
          replace(objects) {
            const before = [...known.keys()];
            known.clear();
            for (const object of objects) known.set(idOf(object), versionIn(object));
            watch.works = true;
            for (const id of before) if (!known.has(id)) gone(id);
            for (const object of objects) changed(object);
            list.filled();
          },
          set(object) {
            known.set(idOf(object), versionIn(object));
            changed(object);
          },
          remove(object) {
            known.delete(idOf(object));
            gone(idOf(object));
          },
        },
        onOpen: () => list.opened(),
        onEvent() {
          isBroken = false;
          watch.works = true;
          list.received();
        },
        onRelist: () => metrics.relisted('Secret'),
        onRestart(reason, error) {
          metrics.watchRestarted('Secret', reason);
          // Until it works again, no event reports that a Secret was deleted.
          watch.works &&= reason === 'closed';
          // If no server answers, reading single Secrets would fail, too.
          isBroken ||= error instanceof ApiError && (error.status === 403 || error.status >= 500);
          if (list.restarts(reason, error))
            log.warn({ namespace, reason, err: error }, 'Watch of Secrets failed; what is known stays');
        },
      });
    },

    version(namespace, name) {
      for (const watch of watched) {
        if (!watch.works || (watch.namespace !== undefined && watch.namespace !== namespace)) continue;
        const version = watch.known.get(`${namespace}/${name}`);
        return version === '' ? undefined : version;
      }
      return undefined;
    },

    followOne(namespace, name, content, list) {
      const take = (object: unknown): void => {
        const secret = toSecret(object);
        if (secret !== undefined) content.setSecret(secret);
      };
      return reflect({
        client,
        path: resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace }),
        query: { fieldSelector: `metadata.name=${name}` },
        signal,
        sink: {
          replace(objects) {
            if (objects.length === 0) content.removeSecret(namespace, name);
            for (const object of objects) take(object);
            list.filled();
          },
          set: take,
          remove: () => content.removeSecret(namespace, name),
        },
        onOpen: () => list.opened(),
        onEvent: () => list.received(),
        onRestart(reason, error) {
          if (list.restarts(reason, error))
            log.warn(
              { namespace, name, reason, err: error },
              'Watch of the sealing Secret failed; what is known stays',
            );
        },
      });
    },

    async settled() {
      while (reading.size > 0) await Promise.allSettled(reading.values());
    },

    unreadable() {
      const counts = new Map<string, number>();
      for (const [id, { error }] of wanted) {
        const [place = ''] = id.split('/');
        counts.set(place, (counts.get(place) ?? 0) + (error === undefined ? 0 : 1));
      }
      return counts;
    },

    remarks() {
      const failed = [...wanted].filter(([, { error }]) => error !== undefined);
      const lines = failed.map(([id, { error }]) => `Secret ${id} cannot be read: ${failureText(error)}`);
      const more = lines.length - mostRemarks;
      return more > 0 ? [...lines.slice(0, mostRemarks), `and ${more} more Secrets`] : lines;
    },
  };
}

function metaOf(
  object: unknown,
): { namespace: string; name: string; resourceVersion: string | undefined } | undefined {
  const parsed = safeParse(objectMetaSchema, (object as { metadata?: unknown } | null)?.metadata);
  return parsed.success ? { ...parsed.data, resourceVersion: parsed.data.resourceVersion } : undefined;
}

function versionIn(object: unknown): string {
  const { metadata } = (object ?? {}) as { metadata?: { resourceVersion?: unknown } | null };
  return typeof metadata?.resourceVersion === 'string' ? metadata.resourceVersion : '';
}

function idOf(object: unknown): string {
  const meta = metaOf(object);
  return `${meta?.namespace ?? ''}/${meta?.name ?? ''}`;
}

function toSecret(object: unknown): Secret | undefined {
  const parsed = parseStored(object);
  return 'resource' in parsed && parsed.resource.kind === 'Secret' ? parsed.resource : undefined;
}
