import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { apiVersion, parseStored } from '../../resources/parse.ts';
import { secretValue } from '../../resources/secret.ts';
import { storedSecretPath } from '../../store/folder/directory-secrets.ts';
import { authored, identified } from '../../store/folder/identified.ts';
import {
  type ManifestProblem,
  problemsFile,
  problemsFolder,
  problemsIn,
} from '../../store/folder/manifest-problems.ts';
import { type RecordFile, readRecord, readRecordFile } from '../../store/folder/record-file.ts';
import { recordedObject } from '../../store/folder/recorded-object.ts';
import { recordPath } from '../../store/folder/records.ts';
import { specMark } from '../../store/folder/resource-record.ts';
import { storedStatus } from '../../store/folder/stored-status.ts';
import { fromStoredText } from '../../store/folder/stored-text.ts';
import { recipientFile } from '../../store/sealing.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';

/** A file as it was read, until its mark changes. */
interface Remembered<T> {
  readonly mark: string;
  readonly value: T;
}

/** An object as the process last put it into force, and the manifest file that it came from. */
export interface LastGood {
  readonly resource: ResourceOf[Kind];
  readonly file: string | undefined;
}

export type FolderData = ReturnType<typeof folderData>;

/** What standalone mode keeps in its data folder, read while it runs. Nothing is ever written, and what is missing is empty. */
export function folderData(data: string | undefined) {
  const records = new Map<string, Remembered<RecordFile | undefined>>();
  const keys = new Map<string, Remembered<ResourceOf['APIKey'] | undefined>>();
  // A watch asks for every status after each change of one: parsing them all anew took seconds with a thousand nodes.
  const joined = new WeakMap<
    ResourceOf[Kind],
    { readonly line: string; readonly result: ResourceOf[Kind] }
  >();

  const lastGoods = new WeakMap<RecordFile, Map<string, LastGood | undefined>>();

  async function remembered<T>(
    path: string,
    memory: Map<string, Remembered<T>>,
    read: (text: string) => T,
  ): Promise<T | undefined> {
    if (data === undefined) return undefined;
    const found = await stat(join(data, path)).catch(() => undefined);
    if (found === undefined) return undefined;
    const mark = `${found.ino}-${found.size}-${found.mtimeMs}`;
    const known = memory.get(path);
    if (known?.mark === mark) return known.value;
    const text = await readFile(join(data, path), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const value = read(text);
    memory.set(path, { mark, value });
    return value;
  }

  const recordsAt = (path: string) => remembered(path, records, (text) => readRecordFile(text, path));

  /** A declared resource with uid, creation time, generation and status, as far as the data folder knows them. */
  async function withStatus<R extends ResourceOf[Kind]>(resource: R): Promise<R> {
    const { kind, metadata, spec } = resource;
    const id = [kind, metadata.namespace, metadata.name].join('/');
    const file = await recordsAt(recordPath(id));
    const line = file?.lines.get(id);
    const known = joined.get(resource);
    if (known !== undefined && known.line === line) return known.result as R;
    const record = file === undefined || line === undefined ? undefined : readRecord(line, file.conditions);
    if (record === undefined || line === undefined) return authored(resource);
    // A spec that the process has not put into force yet is a generation further.
    const generation = record.generation + (record.specMark === specMark(spec) ? 0 : 1);
    const result = identified(resource, { ...record, generation }, storedStatus(resource, record.status));
    joined.set(resource, { line, result });
    return result;
  }

  function readLastGood(id: string, file: RecordFile, line: string): LastGood | undefined {
    const known = lastGoods.get(file) ?? new Map<string, LastGood | undefined>();
    lastGoods.set(file, known);
    if (known.has(id)) return known.get(id);
    const record = readRecord(line, file.conditions);
    const resource = record && recordedObject(id, record);
    const found = record && resource && { resource, file: record.file };
    known.set(id, found);
    return found;
  }

  return {
    withStatus,

    /** An object by `Kind/namespace/name` as it was last in force; undefined where that is not written down. */
    async lastGood(id: string): Promise<LastGood | undefined> {
      const file = await recordsAt(recordPath(id));
      const line = file?.lines.get(id);
      return file === undefined || line === undefined ? undefined : readLastGood(id, file, line);
    },

    /** All objects that came from these manifest files, as they were last in force. */
    async lastGoodOf(files: ReadonlySet<string>): Promise<readonly LastGood[]> {
      if (data === undefined) return [];
      // To parse every record of a large folder takes a second, so a line that does not name a file is passed over.
      const marks = [...files].map((file) => `"file":${JSON.stringify(file)}`);
      const found: LastGood[] = [];
      for (const name of await readdir(join(data, 'state')).catch(() => [])) {
        if (name.startsWith('.')) continue;
        const file = await recordsAt(join('state', name));
        for (const [id, line] of file?.lines ?? []) {
          if (file === undefined || !marks.some((mark) => line.includes(mark))) continue;
          const each = readLastGood(id, file, line);
          if (each?.file !== undefined && files.has(each.file)) found.push(each);
        }
      }
      return found;
    },

    /** APIKeys made through `/v1/keys`, which no manifest declares, by `APIKey/namespace/name`, with their files. */
    async madeKeys(): Promise<
      ReadonlyMap<string, { readonly key: ResourceOf['APIKey']; readonly file: string }>
    > {
      const made = new Map<string, { key: ResourceOf['APIKey']; file: string }>();
      if (data === undefined) return made;
      const entries = await readdir(join(data, 'keys'), { recursive: true, withFileTypes: true }).catch(
        () => [],
      );
      for (const entry of entries) {
        if (!entry.isFile() || entry.name.startsWith('.')) continue;
        const file = join(entry.parentPath, entry.name);
        const key = await remembered(file.slice(data.length + 1), keys, readKey);
        if (key === undefined) continue;
        const { namespace, name } = key.metadata;
        made.set(`APIKey/${namespace}/${name}`, { key, file });
      }
      return made;
    },

    /** What of the manifests the process found not to be in force, when it last looked. */
    async manifestProblems(): Promise<readonly ManifestProblem[]> {
      if (data === undefined) return [];
      return problemsIn(await readFile(join(data, problemsFile), 'utf8').catch(() => undefined));
    },

    /** The text of an entry of a Secret that the process keeps. */
    async secretEntry(namespace: string, name: string, entry: string): Promise<string | undefined> {
      if (data === undefined) return undefined;
      const text = await readFile(join(data, storedSecretPath(namespace, name)), 'utf8').catch(
        () => undefined,
      );
      const secret = fromStoredText('Secret', text);
      return secret === undefined ? undefined : secretValue(secret, entry);
    },

    /** The age recipient; undefined while no process has made one. */
    async recipient(): Promise<string | undefined> {
      if (data === undefined) return undefined;
      const text = await readFile(join(data, recipientFile), 'utf8').catch(() => undefined);
      return text?.trim() || undefined;
    },

    /** Changes whenever a status, a key made or a problem of a manifest may have. */
    async mark(): Promise<string> {
      if (data === undefined) return '';
      const marks = await Promise.all(
        watched.map(async (folder) => {
          const entries = await readdir(join(data, folder), { recursive: true, withFileTypes: true }).catch(
            () => [],
          );
          const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
          return Promise.all(
            files.map(async (entry) => {
              const path = join(entry.parentPath, entry.name);
              const found = await stat(path).catch(() => undefined);
              return `${path} ${found?.ino} ${found?.mtimeMs}`;
            }),
          );
        }),
      );
      return marks.flat().sort().join('\n');
    },

    folders: (): string[] => (data === undefined ? [] : watched.map((folder) => join(data, folder))),
  };
}

/** Folders of the data folder whose files people are shown. */
const watched = ['state', 'keys', problemsFolder];

function readKey(text: string): ResourceOf['APIKey'] | undefined {
  try {
    const parsed = parseStored({ apiVersion, ...(JSON.parse(text) as object) });
    return 'resource' in parsed && parsed.resource.kind === 'APIKey' ? parsed.resource : undefined;
  } catch {
    return undefined;
  }
}
