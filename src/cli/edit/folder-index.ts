import { hash } from 'node:crypto';
import type { Problem } from '../../resources/problem.ts';
import type { FoundProblem } from '../../store/folder/manifest-problems.ts';
import {
  type Declared as DeclaredIn,
  NotYamlError,
  parseManifest,
  parseManifests,
  resourceId,
} from '../../store/folder/parse-manifest.ts';
import { type FileNews, FolderReader } from '../../store/folder/read-folder.ts';
import { needsParserToSplit, splitDocuments } from '../../store/folder/split-documents.ts';
import type { Kind, ResourceOf } from '../../store/store.ts';
import { documentValue } from './edit-yaml.ts';
import { FileChangedError } from './write-manifest.ts';

/** One object of a manifest file, and its place there. */
export interface Placed {
  /** `Kind/namespace/name`; empty if the document does not say which object it is. */
  readonly id: string;
  /** Undefined if it is not valid; `problems` say why. */
  readonly resource: ResourceOf[Kind] | undefined;
  readonly problems: readonly (Problem & { readonly line: number })[];
  /** Relative to the folder of manifests. */
  readonly file: string;
  /** Position of its document in the file, and how many there are. */
  readonly document: number;
  readonly documents: number;
  /** Line of the file that its document starts on. */
  readonly line: number;
  /** The part of the file to parse for it: its document, or the whole file if only a parser can split it. */
  readonly start: number;
  readonly end: number;
  /** Position of its document in that part, from 0. */
  readonly index: number;
  /** Position in a `List`; undefined if the document is the object itself. */
  readonly item: number | undefined;
  readonly text: string;
  /** Whether that part holds only this object. */
  readonly isAlone: boolean;
  /** Digest of that text. */
  readonly digest: string;
}

/** What a folder of manifests declares at one moment. */
export interface FolderContent {
  /** By `Kind/namespace/name`; if a name is declared twice, the first, which is in force. */
  readonly placed: ReadonlyMap<string, Placed>;
  /** The problems of its files and documents. */
  readonly problems: readonly FoundProblem[];
  readonly folders: readonly string[];
}

/**
 * The objects of documents, by the digest of their text, so that only changed documents of a file are parsed again, and
 * the objects of the others stay the same. Documents with problems are not kept, because problems name lines.
 */
type ParsedDocuments = Map<string, readonly DeclaredIn[]>;
/** Most documents that are kept, far more than a folder holds. */
const mostParsed = 100_000;

interface ReadFile {
  readonly placed: readonly Placed[];
  readonly problems: readonly FoundProblem[];
}

/** Reads a folder of manifests as standalone mode does. Unchanged files are not read again. */
export function folderIndex(manifests: string, now: () => number) {
  const reader = new FolderReader(manifests, now);
  const files = new Map<string, ReadFile>();
  const parsed: ParsedDocuments = new Map();
  let last: FolderContent | undefined;
  let running: Promise<FolderContent> | undefined;

  async function look(): Promise<FolderContent> {
    let hasNews = false;
    for await (const news of reader.news()) {
      hasNews = true;
      if ('text' in news && news.text === undefined) files.delete(news.file);
      else files.set(news.file, readManifestFile(news, parsed));
    }
    if (last !== undefined && !hasNews) return last;
    const placed = new Map<string, Placed>();
    const problems: FoundProblem[] = [];
    for (const [, file] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
      problems.push(...file.problems);
      for (const each of file.placed) if (each.id !== '' && !placed.has(each.id)) placed.set(each.id, each);
    }
    const used = new Set([...placed.values()].map(({ digest }) => digest));
    for (const digest of parsed.keys()) if (!used.has(digest)) parsed.delete(digest);
    last = { placed, problems, folders: [...reader.folders] };
    return last;
  }

  return {
    /** For `placedIn` and `placedNow` on the texts of this folder. */
    parsed,

    /** What the folder declares now. Throws the file system's error if the folder itself cannot be read. */
    read(): Promise<FolderContent> {
      // One at a time, because each of two would get only a part of the changes.
      running ??= look().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** The objects of our kinds in the text of one file. Throws NotYamlError. */
export function placedIn(file: string, text: string, parsed: ParsedDocuments = new Map()): Placed[] {
  const pieces = [...splitDocuments(text)];
  if (pieces.some((piece) => needsParserToSplit(piece.text))) {
    const documents = parseManifests(text);
    const whole = { file, documents: documents.length, start: 0, end: text.length, text };
    const digest = digestOf(text);
    return documents.flatMap(({ line, objects }, index) =>
      placedOf(objects, { ...whole, digest, line, document: index + 1, index }, false),
    );
  }
  return pieces.flatMap((piece, index) => {
    const start = piece.start ?? 0;
    const place = {
      file,
      document: index + 1,
      documents: pieces.length,
      line: piece.line,
      start,
      end: start + piece.text.length,
      index: 0,
      text: piece.text,
      digest: digestOf(piece.text),
    };
    const known = parsed.get(place.digest);
    const objects = known ?? parseManifest(piece);
    if (known === undefined && objects.every((object) => !('problems' in object))) {
      if (parsed.size >= mostParsed) parsed.clear();
      parsed.set(place.digest, objects);
    }
    return placedOf(objects, place, true);
  });
}

/** The place of a resource in the text that its file has now. Throws FileChangedError if it is not there any more. */
export function placedNow({ file, id }: Placed, text: string, parsed: ParsedDocuments): Placed {
  let found: Placed | undefined;
  try {
    found = placedIn(file, text, parsed).find((each) => each.id === id);
  } catch (error) {
    if (!(error instanceof NotYamlError)) throw error;
  }
  if (found?.resource === undefined) throw new FileChangedError();
  return found;
}

type Place = Omit<Placed, 'id' | 'resource' | 'problems' | 'item' | 'isAlone'>;

function placedOf(objects: readonly DeclaredIn[], place: Place, isOneDocument: boolean): Placed[] {
  const isEntry = objects.length > 1 || isList(place);
  return objects.flatMap((object, index): Placed[] => {
    if ('foreign' in object) return [];
    const at = { ...place, item: isEntry ? index : undefined, isAlone: isOneDocument && !isEntry };
    if ('problems' in object) {
      return [{ ...at, id: object.id ?? '', resource: undefined, problems: object.problems }];
    }
    const { resource } = object;
    if (resource.kind === 'Secret') return [];
    return [{ ...at, id: resourceId(resource), resource, problems: [] }];
  });
}

/** Whether a document is a `List`. Without this, a list with one entry would look like that entry. */
function isList({ text, index }: Place): boolean {
  if (!/\bList\b/.test(text)) return false;
  try {
    return (documentValue(text, index) as { kind?: unknown } | null)?.kind === 'List';
  } catch {
    return false;
  }
}

function readManifestFile(news: FileNews, parsed: ParsedDocuments): ReadFile {
  const { file } = news;
  if ('problem' in news) {
    const reason = `cannot be read: ${news.problem}`;
    return { placed: [], problems: [{ scope: 'file', file, reason, remedy: 'make it readable' }] };
  }
  try {
    const placed = placedIn(file, news.text ?? '', parsed);
    return { placed, problems: placed.flatMap(problemsOf) };
  } catch (error) {
    if (!(error instanceof NotYamlError)) throw error;
    const { line, message } = error;
    const reason = `is not YAML: ${message}`;
    return { placed: [], problems: [{ scope: 'file', file, line, reason, remedy: 'correct it' }] };
  }
}

function problemsOf({ file, document, id, problems }: Placed): FoundProblem[] {
  const object = id === '' ? undefined : id;
  return problems.map(({ line, path, reason, remedy }) => ({
    scope: 'document',
    file,
    document,
    line,
    object,
    field: path,
    reason,
    remedy,
  }));
}

function digestOf(text: string): string {
  return hash('sha1', text, 'hex');
}
