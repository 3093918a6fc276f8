import type { Log } from '../../observe/log.ts';
import {
  type Breathe,
  type Declaration,
  declarationsOf,
  documentsById,
  type PlacedDocument,
  readDocuments,
} from './declarations.ts';
import type { FoundProblem } from './manifest-problems.ts';
import { NotYamlError } from './parse-manifest.ts';

interface ManifestFile {
  readonly documents: readonly PlacedDocument[];
  readonly declarations: readonly Declaration[];
}

/** The key under which the folder itself is noted as unreadable; no path is empty. */
const wholeFolder = '';

/**
 * What the files of a folder declare. A document whose text did not change is not parsed again, so that one changed key in
 * a file of thousands costs milliseconds. Every problem is logged once, when its document is read.
 */
export class Manifests {
  readonly #log: Log;
  readonly #files = new Map<string, ManifestFile>();
  readonly #byId = new Map<string, Declaration[]>();
  readonly #unreadable = new Map<string, FoundProblem>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether all files can be read and are valid. Only then does the absence of an object prove that it was deleted. */
  get sound(): boolean {
    return this.problems().next().done === true;
  }

  /** Whether the present content of a file is unknown, so that what it last held stays in force. */
  isUnreadable(file: string): boolean {
    return this.#unreadable.has(file) || this.#unreadable.has(wholeFolder);
  }

  /** Whether a file exists and could be read at least once. */
  holds(file: string): boolean {
    return this.#files.has(file);
  }

  /** The declarations of an object, the one in force first: by path, then by document. */
  of(id: string): readonly Declaration[] {
    return this.#byId.get(id) ?? [];
  }

  /** What is wrong with the files and documents now. */
  *problems(): Generator<FoundProblem> {
    yield* this.#unreadable.values();
    for (const file of [...this.#files.keys()].sort()) {
      for (const { document, id, problems } of this.#files.get(file)?.declarations ?? []) {
        for (const { line, path: field, reason, remedy } of problems)
          yield { scope: 'document', file, document, line, object: id, field, reason, remedy };
      }
    }
  }

  /** Notes that a file could not be read. Its absence from the folder then proves nothing. */
  noteUnreadable(file: string, reason: string, remedy: string): void {
    this.#unreadable.set(file, { scope: 'file', file, reason, remedy });
  }

  /** Notes that the folder itself can be read, or why it cannot. @returns whether that is news */
  noteFolder(fault: string | undefined): boolean {
    const before = this.#unreadable.get(wholeFolder)?.reason;
    if (fault === undefined) this.#unreadable.delete(wholeFolder);
    else this.noteUnreadable(wholeFolder, fault, 'make it readable');
    return before !== fault;
  }

  /**
   * Takes the present text of a file.
   * @returns the ids of the objects that may have changed; none if the text is not YAML, because the last good version of
   * the whole file then stays in force
   */
  async replace(file: string, text: string, breathe: Breathe): Promise<ReadonlySet<string>> {
    const before = this.#files.get(file)?.documents ?? [];
    try {
      const documents = await readDocuments(text, before, breathe);
      this.#unreadable.delete(file);
      this.#report(file, documents, before);
      return this.#exchange(file, documents);
    } catch (error) {
      if (!(error instanceof NotYamlError)) throw error;
      const { line, message } = error;
      const kept = before.length === 0 ? '' : '; until then the last good version of the file stays in force';
      const remedy = `correct it${kept}`;
      this.#log.error({ file, line, reason: message, remedy }, 'A manifest file is not YAML');
      this.#unreadable.set(file, { scope: 'file', file, line, reason: `is not YAML: ${message}`, remedy });
      return new Set();
    }
  }

  /** Takes that a file was deleted. @returns the ids of the objects that may have changed */
  remove(file: string): ReadonlySet<string> {
    this.#unreadable.delete(file);
    const touched = this.#exchange(file, []);
    this.#files.delete(file);
    return touched;
  }

  /** Logs what is wrong with documents that were not there before, and which kinds are left out. */
  #report(file: string, documents: readonly PlacedDocument[], before: readonly PlacedDocument[]): void {
    const known = new Set(before.map(({ read }) => read));
    const kinds = new Set<string>();
    for (const [index, { line: start, read }] of documents.entries()) {
      for (const object of known.has(read) ? [] : read.objects) {
        if ('foreign' in object) kinds.add(object.foreign);
        if (!('problems' in object)) continue;
        for (const { line, path: field, value, reason, remedy } of object.problems) {
          const place = { file, document: index + 1, line: start + line - 1 };
          const about = object.id === undefined ? {} : { object: object.id };
          // Named `found` because the log hides every field called `value`.
          const found = value === undefined ? {} : { found: value };
          this.#log.error({ ...place, ...about, field, ...found, reason, remedy }, 'A manifest is not valid');
        }
      }
    }
    if (kinds.size > 0)
      this.#log.info({ file, kinds: [...kinds] }, 'Left out objects of kinds that are for a cluster');
  }

  #exchange(file: string, documents: readonly PlacedDocument[]): ReadonlySet<string> {
    const old = this.#files.get(file) ?? { documents: [], declarations: [] };
    const declarations = documents.flatMap((document, index) => declarationsOf(file, index + 1, document));
    this.#files.set(file, { documents, declarations });
    for (const { id } of old.declarations) {
      if (id === undefined) continue;
      const others = this.of(id).filter((other) => other.file !== file);
      if (others.length === 0) this.#byId.delete(id);
      else this.#byId.set(id, others);
    }
    for (const declaration of declarations) {
      const { id } = declaration;
      if (id !== undefined) this.#byId.set(id, [...this.of(id), declaration].sort(byPlace));
    }
    const [was, is] = [documentsById(old.documents), documentsById(documents)];
    return new Set(
      [...was.keys(), ...is.keys()].filter((id) => {
        const [one = [], other = []] = [was.get(id), is.get(id)];
        return one.length !== other.length || one.some((read, index) => read !== other[index]);
      }),
    );
  }
}

function byPlace(a: Declaration, b: Declaration): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.document - b.document;
}
