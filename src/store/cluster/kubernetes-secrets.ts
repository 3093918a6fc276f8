import { ApiError } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { resourcePath } from '../../kube/paths.ts';
import { reflect } from '../../kube/reflect.ts';
import { getObject } from '../../kube/verbs.ts';
import type { Log } from '../../observe/log.ts';
import { objectMetaSchema } from '../../resources/object-meta.ts';
import { parseStored } from '../../resources/parse.ts';
import { safeParse } from '../../resources/safe-parse.ts';
import type { Secret } from '../../resources/secret.ts';
import type { Content } from '../content.ts';
import type { FirstList } from './first-lists.ts';

/** In place of the version of a Secret, which is a number. */
const missing = 'missing';
const forbidden = 'forbidden';
/** The longest wait before a Secret that may not be read is asked for again. */
const mostRetryMs = 300_000;

export interface FollowedSecrets {
  /** A node began or ceased to name a Secret. */
  want(namespace: string, name: string, wanted: boolean, content: Content): void;
  /** Watches the metadata of a namespace's Secrets (of all, if undefined). */
  follow(namespace: string | undefined, content: Content, first: FirstList): Promise<void>;
  /** Watches one Secret whole. */
  followOne(namespace: string, name: string, content: Content, first: FirstList): Promise<void>;
  /** Settles when every Secret wanted by now was read, or could not be. */
  settled(): Promise<void>;
}

/**
 * The Secrets that nodes name, read whole one by one; of all others only the metadata passes through, to tell the
 * controller that one of its own came or went.
 */
export function followSecrets(options: {
  client: KubeClient;
  log: Log;
  signal: AbortSignal;
  touch: (namespace: string, name: string) => void;
  /** After how long one that could not be read is tried again; 5 s. Doubled for each refusal (403), up to 5 minutes. */
  retryMs?: number;
  /** Called every `pollMs` while the watch of a namespace (of all, if undefined) is refused. */
  unwatched?: (namespace: string | undefined) => void;
  /** How often each is read where the watch of all is refused; 60 s. */
  pollMs?: number;
}): FollowedSecrets {
  const { client, log, signal, touch, retryMs = 5_000, pollMs = 60_000 } = options;
  /** Wanted Secrets by `namespace/name`, with the version last read, or what was answered in its place. */
  const wanted = new Map<string, { version: string | undefined; refusals: number; deletions: number }>();
  const reading = new Map<string, Promise<void>>();
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
        // Deleted while it was read: the answer may be from before, and nothing would take it back.
        if (entry.deletions !== deletions) continue;
        const { resourceVersion } = secret.metadata;
        if (resourceVersion !== undefined && entry.version === resourceVersion) return;
        entry.version = resourceVersion;
        entry.refusals = 0;
        content.setSecret(secret);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const entry = wanted.get(id);
        const status = error instanceof ApiError ? error.status : 0;
        if (entry !== undefined && status === 404) {
          if (entry.version !== missing) content.removeSecret(namespace, name);
          entry.version = missing;
        }
        if (entry === undefined || status === 404) return;
        // A refusal is told once: the condition of the node says it, too.
        if (status !== 403 || entry.version !== forbidden) {
          log.warn(
            { namespace, name, err: error },
            'A Secret that a node names could not be read; it is tried again',
          );
        }
        if (status === 403) {
          entry.version = forbidden;
          content.forbidSecret(namespace, name);
          // A team may name thousands of Secrets that are not granted: they must not crowd out other calls.
          const waitMs = Math.min(retryMs * 2 ** Math.min(entry.refusals, 10), mostRetryMs);
          entry.refusals += 1;
          // Not waited for: a Role without Secrets must not keep the gateway from serving the other nodes.
          retryLater(namespace, name, content, waitMs);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
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
        wanted.set(id, { version: undefined, refusals: 0, deletions: 0 });
        readAgain(namespace, name, content);
      }
    },

    follow(namespace, content, first) {
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
      const known = new Set<string>();
      let isRefused = false;
      /** Why the watch last failed; undefined while it works. Logged once per change. */
      let told: string | undefined;
      // A Role may name single Secrets (`resourceNames`): those can be read, but not found by watching all.
      const polling = setInterval(() => {
        if (!isRefused) return;
        options.unwatched?.(namespace);
        for (const [id, { version }] of wanted) {
          const [place = '', name = ''] = id.split('/');
          const isHere = namespace === undefined || place === namespace;
          if (isHere && version !== forbidden && !reading.has(id)) readAgain(place, name, content);
        }
      }, pollMs).unref();
      signal.addEventListener('abort', () => clearInterval(polling), { once: true });
      return reflect({
        client,
        path: resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace }),
        metadataOnly: true,
        signal,
        sink: {
          replace(objects) {
            isRefused = false;
            told = undefined;
            const now = new Set(objects.map(idOf));
            for (const id of known) if (!now.has(id)) gone(id);
            known.clear();
            for (const id of now) known.add(id);
            for (const object of objects) changed(object);
            first.filled();
          },
          set(object) {
            told = undefined;
            known.add(idOf(object));
            changed(object);
          },
          remove(object) {
            known.delete(idOf(object));
            gone(idOf(object));
          },
        },
        onRestart(reason, error) {
          first.failed(error);
          if (reason !== 'closed' && reason !== 'expired' && reason !== told) {
            told = reason;
            log.warn({ namespace, reason, err: error }, 'Watch of Secrets failed; what is known stays');
          }
          if (reason !== 'forbidden') return;
          isRefused = true;
          // A Role may leave Secrets out where every credential is sealed: that is no reason not to start.
          first.filled();
        },
      });
    },

    followOne(namespace, name, content, first) {
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
            first.filled();
          },
          set: take,
          remove: () => content.removeSecret(namespace, name),
        },
        onRestart(reason, error) {
          first.failed(error);
          if (reason !== 'closed' && reason !== 'expired')
            log.warn(
              { namespace, name, reason, err: error },
              'Watch of the sealing Secret failed; what is known stays',
            );
          if (reason === 'forbidden') first.filled();
        },
      });
    },

    async settled() {
      while (reading.size > 0) await Promise.allSettled(reading.values());
    },
  };
}

function metaOf(
  object: unknown,
): { namespace: string; name: string; resourceVersion: string | undefined } | undefined {
  const parsed = safeParse(objectMetaSchema, (object as { metadata?: unknown } | null)?.metadata);
  return parsed.success ? { ...parsed.data, resourceVersion: parsed.data.resourceVersion } : undefined;
}

function idOf(object: unknown): string {
  const meta = metaOf(object);
  return `${meta?.namespace ?? ''}/${meta?.name ?? ''}`;
}

function toSecret(object: unknown): Secret | undefined {
  const parsed = parseStored(object);
  return 'resource' in parsed && parsed.resource.kind === 'Secret' ? parsed.resource : undefined;
}
