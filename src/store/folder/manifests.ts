import { hash } from 'node:crypto';
import type { Log } from '../../observe/log.ts';
import { FileReport } from './file-report.ts';
import type { FoundProblem } from './manifest-problems.ts';
import {
  type Declared,
  NotYamlError,
  type PlacedProblem,
  parseManifest,
  parseManifests,
  resourceId,
} from './parse-manifest.ts';
import type { Breathe, Declaration, Piece } from './piece.ts';
import { needsParserToSplit, splitDocuments } from './split-documents.ts';

/** Most objects of one folder. */
const maxObjects = 500_000;
/** Stands for all files; no path is empty. */
const wholeFolder = '';

/**
 * What the files of a folder declare. A document that did not change is not read again, so that the cost of one
 * changed key in a large file is that of comparing texts. Every problem is logged once, when its document is read.
 */
export class Manifests {
  readonly #log: Log;
  readonly #files = new Map<string, Piece[]>();
  readonly #byId = new Map<string, Declaration[]>();
  #objects = 0;
  #reading = 0;
  /** Declarations that are not valid. */
  readonly #invalid = new Set<Declaration>();
  /** What is wrong with a declaration, each line counted from that of its document: a document may move. */
  readonly #wrong = new WeakMap<Declaration, readonly PlacedProblem[]>();
  #overfull: FoundProblem | undefined;
  readonly #unreadable = new Map<string, FoundProblem>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether everything could be read and is valid now, so that what is absent is known to be so. */
  get sound(): boolean {
    return this.#unreadable.size === 0 && this.#invalid.size === 0 && this.#overfull === undefined;
  }

  /** Whether what a file holds now is not known, so that what it held last stays in force. */
  isUnreadable(file: string): boolean {
    return this.#unreadable.has(file) || this.#unreadable.has(wholeFolder);
  }

  /** Whether a file is there and could be read at least once. */
  holds(file: string): boolean {
    return this.#files.has(file);
  }

  ids(): Iterable<string> {
    return this.#byId.keys();
  }

  /** The declarations of an object, the one in force first: by path, then by document. */
  of(id: string): readonly Declaration[] {
    return this.#byId.get(id) ?? [];
  }

  /** What is wrong with the files and documents as they are now. */
  *problems(): Iterable<FoundProblem> {
    yield* this.#unreadable.values();
    if (this.#overfull !== undefined) yield this.#overfull;
    for (const declaration of [...this.#invalid].sort(byPlace)) {
      const { file, document, line, id } = declaration;
      for (const { line: offset, path, reason, remedy } of this.#wrong.get(declaration) ?? [])
        yield {
          scope: 'document',
          file,
          document,
          line: line + offset,
          object: id,
          field: path,
          reason,
          remedy,
        };
    }
  }

  /** Notes that a file could not be read, until it can or is deleted: its absence proves nothing. */
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

  /** Takes what a file holds now. @returns the ids of the objects that may have changed; none if it is not YAML */
  async replace(file: string, text: string, breathe: Breathe): Promise<ReadonlySet<string>> {
    const old = this.#files.get(file) ?? [];
    this.#reading += 1;
    const pieces = await this.#read(file, text, old, breathe);
    if (pieces === undefined) return new Set();
    this.#unreadable.delete(file);
    this.#files.set(file, pieces.all);
    return this.#exchange(
      old.filter(({ reading }) => reading !== this.#reading),
      pieces.fresh,
    );
  }

  /** Takes that a file is gone. @returns the ids of the objects that may have changed */
  remove(file: string): ReadonlySet<string> {
    const old = this.#files.get(file) ?? [];
    this.#files.delete(file);
    this.#unreadable.delete(file);
    return this.#exchange(old, []);
  }

  async #read(
    file: string,
    text: string,
    old: readonly Piece[],
    breathe: Breathe,
  ): Promise<{ all: Piece[]; fresh: Piece[] } | undefined> {
    try {
      const report = new FileReport(this.#log, file);
      const read = await this.#readDocuments(file, text, old, report, breathe);
      if (read !== undefined) {
        report.tell();
        return read;
      }
      const wholeReport = new FileReport(this.#log, file);
      const all = parseManifests(text).map(({ line, objects }, index) => ({
        // Equal to that of no document: the whole file is read again when anything in it changed.
        digest: '',
        declarations: this.#declare(file, { line, number: index + 1 }, objects, wholeReport),
        reading: this.#reading,
      }));
      wholeReport.tell();
      return { all, fresh: all };
    } catch (error) {
      if (!(error instanceof NotYamlError)) throw error;
      const remedy =
        old.length === 0
          ? 'correct it'
          : 'correct it; until then the last good version of the file stays in force';
      this.#log.error(
        { file, line: error.line, reason: error.message, remedy },
        'A manifest file is not YAML',
      );
      const { line, message } = error;
      const reason = `is not YAML: ${message}`;
      this.#unreadable.set(file, { scope: 'file', file, line, reason, remedy });
      return undefined;
    }
  }

  /** @returns undefined for a file that only the YAML parser can cut */
  async #readDocuments(
    file: string,
    whole: string,
    old: readonly Piece[],
    report: FileReport,
    breathe: Breathe,
  ): Promise<{ all: Piece[]; fresh: Piece[] } | undefined> {
    // The last first: of documents with one text each is taken once, in their order.
    const unchanged = new Map<string, Piece[]>();
    for (const piece of old.toReversed())
      unchanged.set(piece.digest, [...(unchanged.get(piece.digest) ?? []), piece]);
    const all: Piece[] = [];
    const fresh: Piece[] = [];
    const places: { line: number; number: number }[] = [];
    for (const document of splitDocuments(whole)) {
      if (all.length % 16 === 0) await breathe();
      if (needsParserToSplit(document.text)) return undefined;
      const place = { line: document.line, number: all.length + 1 };
      const digest = hash('sha1', document.text);
      let piece = unchanged.get(digest)?.pop();
      if (piece === undefined) {
        const declarations = this.#declare(file, place, parseManifest(document), report);
        const [first] = declarations;
        // One that lost its name is taken for the one that stood in its place, which thereby stays in force.
        if (first !== undefined && first.id === undefined) first.id = old[all.length]?.declarations[0]?.id;
        piece = { digest, declarations, reading: this.#reading };
        fresh.push(piece);
      }
      places.push(place);
      all.push(piece);
    }
    // Only now is it certain that the file is YAML and this reading counts.
    for (const [index, piece] of all.entries()) {
      piece.reading = this.#reading;
      for (const declaration of piece.declarations) {
        declaration.document = index + 1;
        declaration.line = places[index]?.line ?? 1;
      }
    }
    return { all, fresh };
  }

  #declare(
    file: string,
    place: { line: number; number: number },
    objects: readonly Declared[],
    report: FileReport,
  ): Declaration[] {
    const { line, number } = place;
    const declarations: Declaration[] = [];
    for (const object of objects) {
      if ('foreign' in object) {
        report.foreign(object.foreign);
      } else if ('resource' in object) {
        const { resource } = object;
        declarations.push({ file, document: number, line, id: resourceId(resource), resource });
      } else {
        const { id, problems } = object;
        for (const problem of problems) report.problem(number, id, problem);
        const declaration: Declaration = { file, document: number, line, id, resource: undefined };
        this.#wrong.set(
          declaration,
          problems.map((problem) => ({ ...problem, line: problem.line - line })),
        );
        declarations.push(declaration);
      }
    }
    return declarations;
  }

  #exchange(gone: readonly Piece[], fresh: readonly Piece[]): ReadonlySet<string> {
    const touched = new Set<string>();
    for (const piece of gone) {
      for (const declaration of piece.declarations) this.#drop(declaration, touched);
    }
    for (const piece of fresh) {
      for (const declaration of piece.declarations) this.#add(declaration, touched);
    }
    return touched;
  }

  #add(declaration: Declaration, touched: Set<string>): void {
    const { id } = declaration;
    if (declaration.resource === undefined) this.#invalid.add(declaration);
    if (id === undefined) return;
    if (this.#objects >= maxObjects) {
      const { file } = declaration;
      const reason = `holds more than the ${maxObjects} objects that a folder may hold`;
      this.#overfull = { scope: 'file', file, reason, remedy: 'move objects to another installation' };
      this.#log.error({ file, limit: maxObjects }, 'A manifest holds too many objects');
      return;
    }
    this.#objects += 1;
    touched.add(id);
    this.#byId.set(id, [...this.of(id), declaration].sort(byPlace));
  }

  #drop(declaration: Declaration, touched: Set<string>): void {
    const { id } = declaration;
    this.#invalid.delete(declaration);
    if (id === undefined) return;
    const others = this.of(id).filter((other) => other !== declaration);
    if (others.length === this.of(id).length) return;
    this.#objects -= 1;
    touched.add(id);
    if (others.length === 0) this.#byId.delete(id);
    else this.#byId.set(id, others);
  }
}

function byPlace(a: Declaration, b: Declaration): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.document - b.document;
}
