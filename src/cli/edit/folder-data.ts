import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorText } from '../../observe/error-text.ts';
import { secretValue } from '../../resources/secret.ts';
import { authored, identified } from '../../store/folder/identified.ts';
import { type ManifestProblem, problemsIn, problemsSetting } from '../../store/folder/manifest-problems.ts';
import { readRecord, recordedObject, specMark, storedStatus } from '../../store/folder/resource-record.ts';
import { stateFile } from '../../store/folder/state-file.ts';
import { StateTables } from '../../store/folder/state-tables.ts';
import { fromStoredText } from '../../store/folder/stored-text.ts';
import { recipientFile } from '../../store/sealing.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import { DeclarationError } from './declarations.ts';

/** The last version of an object that was in force, and the manifest file that it came from. */
export interface LastGood {
  readonly resource: ResourceOf[Kind];
  readonly file: string | undefined;
}

export type FolderData = ReturnType<typeof folderData>;

/** What standalone mode keeps in its data folder, read while it runs. It never writes; what is missing counts as empty. */
export function folderData(data: string | undefined) {
  let opened:
    | { readonly inode: number; readonly database: DatabaseSync; readonly tables: StateTables }
    | undefined;
  let fault: string | undefined;
  // A watch reads all statuses after each change of one: parsing all of them again took seconds with a thousand nodes.
  const joined = new WeakMap<
    ResourceOf[Kind],
    { readonly text: string; readonly result: ResourceOf[Kind] }
  >();

  /** The database is kept open, because opening it for each status would take longer than reading it. */
  async function state(): Promise<StateTables | undefined> {
    if (data === undefined) return undefined;
    const path = join(data, stateFile);
    const found = await stat(path).catch(() => undefined);
    if (opened !== undefined && opened.inode === found?.ino) return opened.tables;
    opened?.database.close();
    opened = undefined;
    fault = undefined;
    if (found === undefined) return undefined;
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
      opened = { inode: found.ino, database, tables: new StateTables(database) };
    } catch (error) {
      database?.close();
      fault = `The state file ${path} cannot be read (${errorText(error)}), so statuses and generated keys are missing here; run the command as the user who runs the gateway, or check the file.`;
      return undefined;
    }
    return opened.tables;
  }

  /** A declared resource with uid, creation time, generation and status, as far as the data folder knows them. */
  async function withStatus<R extends ResourceOf[Kind]>(resource: R): Promise<R> {
    const { kind, metadata, spec } = resource;
    const text = (await state())?.get('record', `${kind}/${metadata.namespace}/${metadata.name}`);
    const known = joined.get(resource);
    if (known !== undefined && known.text === text) return known.result as R;
    const record = text === undefined ? undefined : readRecord(text);
    if (record === undefined || text === undefined) return authored(resource);
    // A spec that the process has not applied yet has the next generation.
    const generation = record.generation + (record.specMark === specMark(spec) ? 0 : 1);
    const result = identified(resource, { ...record, generation }, storedStatus(resource, record.status));
    joined.set(resource, { text, result });
    return result;
  }

  function lastGoodIn(id: string, text: string): LastGood | undefined {
    const record = readRecord(text);
    const resource = record && recordedObject(id, record);
    return record && resource && { resource, file: record.file };
  }

  return {
    withStatus,

    /** The last version of an object that was in force, by `Kind/namespace/name`; undefined if it is not recorded. */
    async lastGood(id: string): Promise<LastGood | undefined> {
      const text = (await state())?.get('record', id);
      return text === undefined ? undefined : lastGoodIn(id, text);
    },

    /** The last versions in force of all objects from these manifest files. */
    async lastGoodOf(files: ReadonlySet<string>): Promise<readonly LastGood[]> {
      // Records that do not name a file are skipped, because parsing every record of a large folder takes long.
      const marks = [...files].map((file) => `"file":${JSON.stringify(file)}`);
      const found: LastGood[] = [];
      for (const [id, text] of (await state())?.all('record') ?? []) {
        const each = marks.some((mark) => text.includes(mark)) ? lastGoodIn(id, text) : undefined;
        if (each?.file !== undefined && files.has(each.file)) found.push(each);
      }
      return found;
    },

    /** APIKeys made through `/v1/keys`, which no manifest declares, by `APIKey/namespace/name`, with the place that holds each. */
    async madeKeys(): Promise<
      ReadonlyMap<string, { readonly key: ResourceOf['APIKey']; readonly file: string }>
    > {
      const made = new Map<string, { key: ResourceOf['APIKey']; file: string }>();
      for (const [id, text] of (await state())?.all('made_key') ?? []) {
        const key = fromStoredText('APIKey', text);
        if (key !== undefined)
          made.set(`APIKey/${id}`, { key, file: `${join(data ?? '', stateFile)}, made_key ${id}` });
      }
      return made;
    },

    /** The manifests that were not in force when the process last read them. */
    async manifestProblems(): Promise<readonly ManifestProblem[]> {
      return problemsIn((await state())?.get('setting', problemsSetting));
    },

    /** Why the state file cannot be read, although it exists: what it holds is then missing. */
    async problem(): Promise<string | undefined> {
      await state();
      return fault;
    },

    /** The text of an entry of a Secret that the process keeps. @throws DeclarationError if the state file cannot be read */
    async secretEntry(namespace: string, name: string, entry: string): Promise<string | undefined> {
      const tables = await state();
      if (fault !== undefined) throw new DeclarationError('Unavailable', fault);
      const secret = fromStoredText('Secret', tables?.get('secret', `${namespace}/${name}`));
      return secret === undefined ? undefined : secretValue(secret, entry);
    },

    /** The age recipient; undefined until a process has made one. */
    async recipient(): Promise<string | undefined> {
      if (data === undefined) return undefined;
      const text = await readFile(join(data, recipientFile), 'utf8').catch(() => undefined);
      return text?.trim() || undefined;
    },

    /** Differs if a status, a key that was made, or a problem of a manifest may have changed. */
    async mark(): Promise<string> {
      const tables = await state();
      return tables === undefined ? '' : `${opened?.inode} ${tables.version()}`;
    },

    /** The folders to watch for a change of them. */
    folders: (): string[] => (data === undefined ? [] : [data]),
  };
}

/** How long a read waits for a lock. The writer blocks readers only when it recovers after a crash. */
const busyMs = 1_000;
