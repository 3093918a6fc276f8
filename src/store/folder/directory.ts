import { rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText } from '../../observe/error-text.ts';
import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import { appliedSecret } from '../../resources/secret.ts';
import { Content } from '../content.ts';
import { contentView } from '../content-view.ts';
import { openSealed } from '../open-sealed.ts';
import { recipientFile, sealingSecretName } from '../sealing.ts';
import type { Kind, Store } from '../store.ts';
import { AppliedLog } from './applied-log.ts';
import { DirectoryObjects } from './directory-objects.ts';
import { DirectorySecrets } from './directory-secrets.ts';
import { FaultLog } from './fault-log.ts';
import { lockFolder } from './folder-lock.ts';
import { identityMaker, timestampOf } from './identity-maker.ts';
import { MadeKeys } from './made-keys.ts';
import { makeFolder } from './make-folder.ts';
import { type ManifestProblem, ManifestProblems, type ProblemCounts } from './manifest-problems.ts';
import { Manifests } from './manifests.ts';
import type { Breathe } from './piece.ts';
import { FolderReader } from './read-folder.ts';
import { Records } from './records.ts';
import { partsOf, type ResourceRecord, recordOf } from './resource-record.ts';
import { StateFile } from './state-file.ts';
import { watchFolders } from './watch-folders.ts';

export interface DirectoryOptions {
  /** The folder of manifests. */
  readonly manifests: string;
  /** The folder for what must survive a restart; made where it is missing. */
  readonly data: string;
  /** Where the sealing Secret lives. */
  readonly homeNamespace: string;
  readonly log: Log;
  /** Reports what a listener to changes throws. */
  readonly internalErrors?: InternalErrors | undefined;
  /** Milliseconds since 1970. */
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
 * @throws DirectoryError when a folder cannot be used, FolderLockError when another process has the data folder,
 * StateFileError when what it holds cannot be used
 */
export async function openDirectoryStore(options: DirectoryOptions): Promise<DirectoryStore> {
  const { homeNamespace, log, now, randomBytes, signal } = options;
  const manifestsPath = resolve(options.manifests);
  await mustBeFolder(manifestsPath);
  const data = resolve(options.data);
  await makeData(data);
  const unlock = lockFolder(data);
  let state: StateFile | undefined;
  try {
    state = StateFile.open(data);
    const opened = state;
    const made = new MadeKeys(state, log);
    const records = new Records(state, log, (id) => recordInForce(content, made, id));
    const secrets: DirectorySecrets = new DirectorySecrets({
      state,
      content: () => content,
      log,
      salt: await saltOf(state, randomBytes),
    });
    const content: Content = new Content({
      log,
      internalErrors: options.internalErrors,
      sealingNamespace: homeNamespace,
      openSealed,
      wantSecret: (namespace, name, wanted) => secrets.want(namespace, name, wanted),
    });
    const manifests = new Manifests(log);
    const problems = new ManifestProblems(state, log, now);
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

    secrets.want(homeNamespace, sealingSecretName, true);
    objects.load();
    const fault = await look(true);
    if (fault !== undefined) {
      throw new DirectoryError(`The data folder ${data} cannot be used: ${messageOf(fault)}`, {
        cause: fault,
      });
    }
    await content.credentialsSettled();
    await sweep();
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
    let version = state.version();
    const closed = Promise.all([
      watchFolders(reader.folders, { log, signal, quietMs, pollMs: options.pollMs ?? 2_000 }, async () => {
        const fault = await look();
        // The watch must not end with it; the objects are tried again with the next look.
        if (fault === undefined) applying.worked();
        else applying.failed(fault);
        await sweep().catch((error: unknown) =>
          log.error({ err: error }, 'What belonged to deleted objects could not be removed'),
        );
        return reader.folders;
      }),
      watchFolders([data], { log, signal, quietMs, pollMs: 10_000 }, async () => {
        try {
          const before = version;
          version = opened.version();
          // Only what another process wrote is news.
          if (version !== before) secrets.look();
          readingSecrets.worked();
        } catch (error) {
          // The watch must not end with it, and the process not with the watch.
          readingSecrets.failed(error);
        }
        return [data];
      }),
    ]).then(async () => {
      await records
        .close()
        .catch((error: unknown) => log.error({ err: error }, 'The data folder cannot be written'));
      opened.close();
      unlock();
    });
    return storeOf({ content, data, objects, problems, secrets, records, log, now, closed });
  } catch (error) {
    state?.close();
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
  data: string;
  objects: DirectoryObjects;
  problems: ManifestProblems;
  secrets: DirectorySecrets;
  records: Records;
  log: Log;
  now: () => number;
  closed: Promise<void>;
}): DirectoryStore {
  const { content, data, objects, problems, secrets, records, log, now, closed } = parts;
  return Object.assign(contentView(content), {
    closed,
    manifestProblems: () => problems.current,
    manifestProblemCounts: () => problems.counts,
    writeStatus: (kind, resource, status) => objects.writeStatus(kind, resource, status),
    readSecret: async (namespace, name) => secrets.read(namespace, name),
    async createSecret(secret) {
      // Its owner's uid must be on disk first: with another uid after a crash the Secret would have no owner.
      const { namespace } = secret.metadata;
      for (const { kind, name } of secret.metadata.ownerReferences ?? []) {
        await records.saved(`${kind}/${namespace}/${name}`);
      }
      return secrets.create(secret, timestampOf(now()));
    },
    applySecret: (secret) => secrets.replace(secret, (current) => appliedSecret(current, secret)),
    ownSecret: (secret, ownerReferences) =>
      secrets.replace(secret, (current) => ({
        ...current,
        metadata: { ...current.metadata, ownerReferences },
      })),
    async publishSealingRecipient(recipient) {
      // Published for people. The controller publishes it at each start, so that it need not survive a power cut.
      const path = join(data, recipientFile);
      await writeFile(`${path}.new`, `${recipient}\n`, { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    createKey: (key) => objects.createKey(key),
    deleteKey: (key) => objects.deleteKey(key),
    recordEvent({ regarding, type, reason, action, note }) {
      const fields = { object: `${regarding.kind}/${regarding.namespace}/${regarding.name}`, reason, action };
      if (type === 'Warning') log.warn(fields, note);
      else log.info(fields, note);
    },
  } satisfies Omit<DirectoryStore, keyof ReturnType<typeof contentView>>);
}

function recordInForce(content: Content, made: MadeKeys, id: string): ResourceRecord | undefined {
  const [kind, namespace, name] = partsOf(id);
  const resource = content.get(kind as Kind, namespace, name);
  if (resource === undefined) return undefined;
  const { spec, ...record } = recordOf(resource);
  // The spec of a key that was made here is in the key's own row.
  return kind === 'APIKey' && made.has(namespace, name) ? record : { ...record, spec };
}

async function makeData(path: string): Promise<void> {
  try {
    await makeFolder(path, 0o700);
  } catch (error) {
    throw new DirectoryError(
      `The data folder ${path} cannot be made or entered (${messageOf(error)}); check its permissions, or name another with --data`,
      { cause: error },
    );
  }
}

async function saltOf(state: StateFile, randomBytes: (size: number) => Uint8Array): Promise<Uint8Array> {
  const known = state.get('setting', 'salt');
  if (known !== undefined) return Buffer.from(known, 'hex');
  const salt = Buffer.from(randomBytes(32));
  await state.write([{ table: 'setting', id: 'salt', text: salt.toString('hex') }]);
  return salt;
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
