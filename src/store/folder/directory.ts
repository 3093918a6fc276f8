import { existsSync } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { errorText } from '../../observe/error-text.ts';
import type { InternalErrors } from '../../observe/internal-errors.ts';
import type { Log } from '../../observe/log.ts';
import { appliedSecret } from '../../resources/secret.ts';
import { Content } from '../content.ts';
import { contentView } from '../content-view.ts';
import { openSealed } from '../open-sealed.ts';
import { recipientFile, sealingSecretName } from '../sealing.ts';
import type { Store } from '../store.ts';
import { AppliedLog } from './applied-log.ts';
import { DamagedRows } from './damaged-rows.ts';
import { DirectoryObjects } from './directory-objects.ts';
import { DirectorySecrets } from './directory-secrets.ts';
import { FaultLog } from './fault-log.ts';
import { breather, folderLook } from './folder-look.ts';
import { identityMaker, timestampOf } from './identity-maker.ts';
import { MadeKeys } from './made-keys.ts';
import { makeFolder } from './make-folder.ts';
import { type ManifestProblem, ManifestProblems, type ProblemCounts } from './manifest-problems.ts';
import { Manifests } from './manifests.ts';
import { FolderReader } from './read-folder.ts';
import { Records } from './records.ts';
import { StateFile, stateFile } from './state-file.ts';
import { watchFolders } from './watch-folders.ts';

export interface DirectoryOptions {
  /** The folder of manifests. */
  readonly manifests: string;
  /** The folder for what must survive a restart; created if it is missing. */
  readonly data: string;
  /** The namespace of the sealing Secret. */
  readonly homeNamespace: string;
  readonly log: Log;
  /** Reports errors that listeners throw. */
  readonly internalErrors?: InternalErrors | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Ends the watching. Unwritten changes are then written, and the data folder is released. */
  readonly signal: AbortSignal;
  /** How long the folder must be quiet before it is read; 60 ms. */
  readonly quietMs?: number;
  /** How often the folder is read without a notification of a change; 2 s. */
  readonly pollMs?: number;
}

export interface DirectoryStore extends Store {
  /** Settles when everything is written and another process can use the data folder. */
  readonly closed: Promise<void>;
  /** Which declarations are not in force, and since when; at most 1,000. */
  manifestProblems(): readonly ManifestProblem[];
  manifestProblemCounts(): ProblemCounts;
}

/** A folder cannot be used. The message says which, and what to do. */
class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
}

/**
 * The store of standalone mode: the manifests of a folder, and a data folder for what an API server would keep.
 * Settles when the folder was read once, so the store is `synced`; problems of single manifests are logged.
 * @throws DirectoryError if a folder cannot be used, StateFileError if another process has the data folder or its state file
 * cannot be used
 */
export async function openDirectoryStore(options: DirectoryOptions): Promise<DirectoryStore> {
  const { homeNamespace, log, now, randomBytes, signal } = options;
  const folder = resolve(options.manifests);
  await mustBeFolder(folder);
  const data = resolve(options.data);
  await makeData(data);
  const wasUsed = existsSync(join(data, recipientFile));
  const state = StateFile.open(data);
  try {
    const damaged = new DamagedRows(log, relative(folder, join(data, stateFile)));
    const made = new MadeKeys(state, damaged);
    const records = new Records(state, log, damaged);
    const secrets: DirectorySecrets = new DirectorySecrets({
      ...{ state, content: () => content, log, damaged },
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
    const applied = new AppliedLog(log);
    const newIdentity = identityMaker(now);
    const objects = new DirectoryObjects({
      ...{ content, manifests, records, made, secrets, damaged, log, applied, newIdentity },
    });
    const problems = new ManifestProblems(state, log, now);
    const reader = new FolderReader(folder, now);
    const look = folderLook({ reader, manifests, objects, damaged, problems, applied, log, folder });

    secrets.want(homeNamespace, sealingSecretName, true);
    objects.load();
    const fault = await look();
    if (fault !== undefined) {
      throw new DirectoryError(`The data folder ${data} cannot be used: ${errorText(fault)}`, {
        cause: fault,
      });
    }
    const sealing = [homeNamespace, sealingSecretName] as const;
    if (wasUsed && !secrets.isStored(...sealing) && !secrets.isDeclared(...sealing))
      throw withoutSealingKey(data);
    await content.credentialsSettled();
    content.markSynced();
    applied.begin();

    const applying = new FaultLog(log, {
      begins: 'The changes of the manifests could not be applied',
      ends: 'The changes of the manifests are applied again',
    });
    const timing = { quietMs: options.quietMs ?? 60, pollMs: options.pollMs ?? 2_000 };
    const watching = watchFolders(reader.folders, { log, signal, ...timing }, async () => {
      const fault = await look();
      // The watch must not end with it; the objects are tried again with the next look.
      if (fault === undefined) applying.worked();
      else applying.failed(fault);
      return reader.folders;
    });
    const closed = watching.then(async () => {
      await records
        .close()
        .catch((error: unknown) => log.error({ err: error }, 'The data folder cannot be written'));
      state.close();
    });
    return storeOf({ content, data, objects, problems, secrets, records, log, now, closed });
  } catch (error) {
    state.close();
    throw error;
  }
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
      // A data folder that lost its identities is refused at the start.
      return undefined;
    },
    createKey: (key) => objects.createKey(key),
    deleteKey: (key) => objects.deleteKey(key, breather()),
    recordEvent({ regarding, type, reason, action, note }) {
      const fields = { object: `${regarding.kind}/${regarding.namespace}/${regarding.name}`, reason, action };
      if (type === 'Warning') log.warn(fields, note);
      else log.info(fields, note);
    },
  } satisfies Omit<DirectoryStore, keyof ReturnType<typeof contentView>>);
}

async function makeData(path: string): Promise<void> {
  try {
    await makeFolder(path, 0o700);
  } catch (error) {
    throw new DirectoryError(
      `The data folder ${path} cannot be made or entered (${errorText(error)}); check its permissions, or name another with --data`,
      { cause: error },
    );
  }
}

/** Part of the state is lost, for example a file of SQLite's log that a backup left out. A new sealing key would hide that. */
function withoutSealingKey(data: string): DirectoryError {
  return new DirectoryError(
    `The data folder ${data} has a ${recipientFile}, but the Secret ${sealingSecretName} is neither in its state nor in the manifests, so part of its state was lost; restore the folder from a backup with every file whose name begins with ${stateFile}, or remove ${recipientFile}: a new sealing key is then made, and every credential must be sealed again`,
  );
}

async function saltOf(state: StateFile, randomBytes: (size: number) => Uint8Array): Promise<Uint8Array> {
  const known = state.get('setting', 'salt');
  if (known !== undefined) return Buffer.from(known, 'hex');
  const salt = Buffer.from(randomBytes(32));
  await state.write([{ table: 'setting', id: 'salt', text: salt.toString('hex') }]);
  return salt;
}

async function mustBeFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => errorText(error));
  if (typeof found !== 'string' && found.isDirectory()) return;
  const reason = typeof found === 'string' ? found : 'it is no folder';
  throw new DirectoryError(
    `The folder of manifests ${path} cannot be read (${reason}); make it, or name another with --manifests`,
  );
}
