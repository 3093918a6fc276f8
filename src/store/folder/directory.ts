import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText } from '../../observe/error-text.ts';
import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import { Content } from '../content.ts';
import { fitHeapGrowth } from '../heap-growth.ts';
import { openSealed } from '../open-sealed.ts';
import { recipientFile, sealingSecretName } from '../sealing.ts';
import type { Kind, Store } from '../store.ts';
import { AppliedLog } from './applied-log.ts';
import { DataFolder } from './data-folder.ts';
import { DirectoryObjects } from './directory-objects.ts';
import { DirectorySecrets } from './directory-secrets.ts';
import { FaultLog } from './fault-log.ts';
import { lockFolder } from './folder-lock.ts';
import { identityMaker } from './identity-maker.ts';
import { MadeKeys } from './made-keys.ts';
import {
  type ManifestProblem,
  ManifestProblems,
  type ProblemCounts,
  problemsFolder,
} from './manifest-problems.ts';
import { Manifests } from './manifests.ts';
import type { Breathe } from './piece.ts';
import { FolderReader } from './read-folder.ts';
import { Records } from './records.ts';
import { partsOf, type ResourceRecord, recordOf } from './resource-record.ts';
import { watchFolders } from './watch-folders.ts';

export interface DirectoryOptions {
  /** The folder of manifests. */
  readonly manifests: string;
  /** The folder for what must survive a restart; made where it is missing. */
  readonly data: string;
  /** Where the sealing Secret lives. */
  readonly homeNamespace: string;
  readonly log: Log;
  /** Milliseconds since 1970. */
  /** Reports what a listener to changes throws. */
  readonly internalErrors?: InternalErrors | undefined;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Ends the watching; what is unwritten is then written and the data folder given free. */
  readonly signal: AbortSignal;
  /** How long the folder must be quiet before it is read; 60 ms. */
  readonly quietMs?: number;
  /** How often the folder is looked at without being told of a change; 2 s. */
  readonly pollMs?: number;
}

export interface DirectoryStore extends Store {
  /** Settles when everything is written and the data folder is free for another process. */
  readonly closed: Promise<void>;
  /** What of the manifests is not in force, and since when; at most 1,000. */
  manifestProblems(): readonly ManifestProblem[];
  manifestProblemCounts(): ProblemCounts;
}

/** A folder that cannot be used; the message says which and what to do. */
class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
}

/**
 * The store of standalone mode: the manifests of a folder, and a data folder for what an API server would keep.
 * Settles when the folder was read once, so the store is `synced`; problems of single manifests are logged.
 * @throws DirectoryError when a folder cannot be used, FolderLockError when another process has the data folder
 */
export async function openDirectoryStore(options: DirectoryOptions): Promise<DirectoryStore> {
  const { homeNamespace, log, now, randomBytes, signal } = options;
  const manifestsPath = resolve(options.manifests);
  await mustBeFolder(manifestsPath);
  const folder = await openData(resolve(options.data));
  const unlock = lockFolder(folder.path());
  try {
    await folder.clean();
    const made = new MadeKeys(folder, log);
    const records = new Records({ folder, log, recordOf: (id) => recordInForce(content, made, id) });
    const secrets: DirectorySecrets = await DirectorySecrets.load({
      folder,
      content: () => content,
      log,
      randomBytes,
    });
    const content: Content = new Content({
      log,
      internalErrors: options.internalErrors,
      sealingNamespace: homeNamespace,
      openSealed,
      wantSecret: (namespace, name, wanted) => secrets.want(namespace, name, wanted),
    });
    const manifests = new Manifests(log);
    const problems = new ManifestProblems(folder, log, now);
    const applied = new AppliedLog(log);
    const objects = new DirectoryObjects({
      content,
      manifests,
      records,
      made,
      secrets,
      log,
      applied,
      newIdentity: identityMaker(now, randomBytes),
    });
    const reader = new FolderReader(manifestsPath, now);
    const touched = new Set<string>();
    const listing = new FaultLog(log, {
      begins: 'The folder of manifests cannot be read; what it held last stays in force',
      ends: 'The folder of manifests can be read again',
    });
    const parts = { reader, manifests, objects, applied, listing };
    const found = () => [...manifests.problems(), ...objects.problems()];
    // The first look always judges: a folder without files has no news, and what was wrong in the last run is deleted.
    const look = async (isFirst = false) => {
      const { fault, hasNews } = await lookAt({ ...parts, touched, log, folder: manifestsPath });
      if (hasNews || isFirst) await problems.replace(found(), (file) => manifests.holds(file));
      return fault;
    };
    const sweep = async () => {
      // What was not applied yet has its Secrets still.
      if (touched.size === 0) await objects.sweep(breather());
    };

    fitHeapGrowth(true);
    secrets.want(homeNamespace, sealingSecretName, true);
    await objects.load();
    await problems.load();
    const fault = await look(true);
    if (fault !== undefined) {
      throw new DirectoryError(`The data folder ${folder.path()} cannot be used: ${messageOf(fault)}`, {
        cause: fault,
      });
    }
    await secrets.settled();
    await content.credentialsSettled();
    await sweep();
    fitHeapGrowth(false);
    content.markSynced();
    applied.begin();

    const quietMs = options.quietMs ?? 60;
    const applying = new FaultLog(log, {
      begins: 'The changes of the manifests could not be applied',
      ends: 'The changes of the manifests are applied again',
    });
    const readingSecrets = new FaultLog(log, {
      begins: 'The stored Secrets cannot be read',
      ends: 'The stored Secrets can be read again',
    });
    let secretFolders = await folder.folders('secrets');
    const closed = Promise.all([
      watchFolders(reader.folders, { log, signal, quietMs, pollMs: options.pollMs ?? 2_000 }, async () => {
        const fault = await look();
        // The watch must not end with it; the objects are tried again with the next look.
        if (fault === undefined) applying.worked();
        else applying.failed(fault);
        await sweep().catch((error: unknown) =>
          log.error({ err: error }, 'What belonged to deleted objects could not be removed'),
        );
        fitHeapGrowth(false);
        return reader.folders;
      }),
      watchFolders(secretFolders, { log, signal, quietMs, pollMs: 10_000 }, async () => {
        try {
          await secrets.look();
          secretFolders = await folder.folders('secrets');
          readingSecrets.worked();
        } catch (error) {
          // Out of file descriptors, most likely. The watch must not end with it, and the process not with the watch.
          readingSecrets.failed(error);
        }
        return secretFolders;
      }),
    ]).then(async () => {
      await records
        .close()
        .catch((error: unknown) => log.error({ err: error }, 'The data folder cannot be written'));
      unlock();
    });
    return storeOf({ content, folder, objects, problems, secrets, records, log, now, closed });
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Reads what changed in the folder and applies it. Never rejects: `fault` is what kept it from being applied. */
async function lookAt(parts: {
  reader: FolderReader;
  manifests: Manifests;
  objects: DirectoryObjects;
  applied: AppliedLog;
  /** Objects that changed and were not applied yet. */
  touched: Set<string>;
  log: Log;
  listing: FaultLog;
  folder: string;
}): Promise<{ readonly hasNews: boolean; readonly fault: unknown }> {
  const { reader, manifests, objects, applied, touched, log, listing, folder } = parts;
  const breathe = breather();
  let hasNews = touched.size > 0;
  try {
    for await (const news of reader.news()) {
      hasNews = true;
      if ('problem' in news) {
        const remedy = 'make it readable; until then what it held last stays in force';
        manifests.noteUnreadable(news.file, `cannot be read: ${news.problem}`, remedy);
        log.error({ file: news.file, reason: news.problem, remedy }, 'A manifest file cannot be read');
        continue;
      }
      const { file, text } = news;
      const ids = text === undefined ? manifests.remove(file) : await manifests.replace(file, text, breathe);
      if (text === undefined) applied.noteDeleted(file);
      for (const id of ids) touched.add(id);
    }
    hasNews = manifests.noteFolder(undefined) || hasNews;
    listing.worked({ folder });
  } catch (error) {
    hasNews = manifests.noteFolder(`cannot be read: ${messageOf(error)}`) || hasNews;
    listing.failed(error, { folder });
  }
  try {
    await objects.apply(touched, breathe);
    await objects.keepUnreadable(breathe);
    touched.clear();
    applied.tell();
    return { hasNews, fault: undefined };
  } catch (error) {
    return { hasNews, fault: error };
  }
}

const turnMs = 5;

/** Gives the event loop a turn whenever it was held for a while: requests must not wait for a large file. */
function breather(): Breathe {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMs) return;
    await nextTurn();
    since = performance.now();
  };
}

function storeOf(parts: {
  content: Content;
  folder: DataFolder;
  objects: DirectoryObjects;
  problems: ManifestProblems;
  secrets: DirectorySecrets;
  records: Records;
  log: Log;
  now: () => number;
  closed: Promise<void>;
}): DirectoryStore {
  const { content, folder, objects, problems, secrets, records, log, now, closed } = parts;
  return {
    closed,
    manifestProblems: () => problems.current,
    manifestProblemCounts: () => problems.counts,
    get: content.get.bind(content),
    list: content.list.bind(content),
    key: content.key.bind(content),
    claims: content.claims.bind(content),
    served: content.served.bind(content),
    servedNames: content.servedNames.bind(content),
    node: content.node.bind(content),
    sealingIdentities: content.sealingIdentities.bind(content),
    get synced() {
      return content.synced;
    },
    whenSynced: content.whenSynced.bind(content),
    subscribe: content.subscribe.bind(content),
    writeStatus: (kind, resource, status) => objects.writeStatus(kind, resource, status),
    readSecret: (namespace, name) => secrets.read(namespace, name),
    async createSecret(secret) {
      // Its owner's uid must be on disk first: with another uid after a crash the Secret would belong to nobody.
      const { namespace } = secret.metadata;
      for (const { kind, name } of secret.metadata.ownerReferences ?? []) {
        await records.saved(`${kind}/${namespace}/${name}`);
      }
      return secrets.create(secret, `${new Date(now()).toISOString().slice(0, 19)}Z`);
    },
    replaceSecret: (secret) => secrets.replace(secret),
    async publishSealingRecipient(recipient) {
      const text = `${recipient}\n`;
      if ((await folder.read(recipientFile)) !== text) await folder.write(recipientFile, text);
    },
    createKey: (key) => objects.createKey(key),
    deleteKey: (key) => objects.deleteKey(key),
    recordEvent({ regarding, type, reason, action, note }) {
      const fields = { object: `${regarding.kind}/${regarding.namespace}/${regarding.name}`, reason, action };
      if (type === 'Warning') log.warn(fields, note);
      else log.info(fields, note);
    },
  };
}

function recordInForce(content: Content, made: MadeKeys, id: string): ResourceRecord | undefined {
  const [kind, namespace, name] = partsOf(id);
  const resource = content.get(kind as Kind, namespace, name);
  if (resource === undefined) return undefined;
  const { spec, ...record } = recordOf(resource);
  // The spec of a key that was made here is in the key's own file.
  return kind === 'APIKey' && made.has(namespace, name) ? record : { ...record, spec };
}

async function openData(path: string): Promise<DataFolder> {
  try {
    return await DataFolder.open(path, ['keys', 'secrets', 'state', problemsFolder]);
  } catch (error) {
    throw new DirectoryError(
      `The data folder ${path} cannot be made or entered (${messageOf(error)}); check its permissions, or name another with --data`,
      { cause: error },
    );
  }
}

async function mustBeFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => messageOf(error));
  if (typeof found !== 'string' && found.isDirectory()) return;
  const reason = typeof found === 'string' ? found : 'it is no folder';
  throw new DirectoryError(
    `The folder of manifests ${path} cannot be read (${reason}); make it, or name another with --manifests`,
  );
}

function messageOf(error: unknown): string {
  return errorText(error);
}
