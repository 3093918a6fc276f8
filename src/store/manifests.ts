import type { Log } from '../observe/log.ts';
import type { Resource } from '../resources/resource.ts';
import {
  type Declared,
  NotYamlError,
  type PlacedProblem,
  parseManifest,
  parseManifests,
  resourceId,
} from './parse-manifest.ts';
import { type DocumentText, splitDocuments } from './split-documents.ts';

/** An object that a manifest declares. */
export interface Declaration {
  readonly file: string;
  /** Position of its document in the file, from 1, and the line it starts on. */
  document: number;
  line: number;
  /** Undefined for one that says not even which object it is. */
  id: string | undefined;
  /** Undefined for one that is not valid. */
  readonly resource: Resource | undefined;
}

interface Piece {
  text: string;
  readonly declarations: readonly Declaration[];
}

/** Lets others run; called often while a large file is read. */
export type Breathe = () => Promise<void>;

/** Most objects of one folder. */
const maxObjects = 500_000;

/**
 * What the files of a folder declare. A document that did not change is not read again, so that the cost of one
 * changed key in a large file is that of comparing texts. Every problem is logged once, when its document is read.
 */
export class Manifests {
  readonly #log: Log;
  readonly #files = new Map<string, Piece[]>();
  /** Nearly every object is declared once, so one declaration needs no list. */
  readonly #byId = new Map<string, Declaration | Declaration[]>();
  #objects = 0;
  #sound = true;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether everything that was ever read was free of problems, so that what is absent is known to be so. */
  get sound(): boolean {
    return this.#sound;
  }

  files(): Iterable<string> {
    return this.#files.keys();
  }

  ids(): Iterable<string> {
    return this.#byId.keys();
  }

  /** The declarations of an object, the one in force first: by path, then by document. */
  of(id: string): readonly Declaration[] {
    const declared = this.#byId.get(id);
    if (declared === undefined) return [];
    return Array.isArray(declared) ? declared : [declared];
  }

  /** Notes that something could not be read, so that absence proves nothing. */
  noteUnsound(): void {
    this.#sound = false;
  }

  /** Takes what a file holds now. @returns the ids of the objects that may have changed; none if it is not YAML */
  async replace(file: string, text: string, breathe: Breathe): Promise<ReadonlySet<string>> {
    const old = this.#files.get(file) ?? [];
    const pieces = await this.#read(file, text, old, breathe);
    if (pieces === undefined) {
      this.#sound = false;
      return new Set();
    }
    this.#files.set(file, pieces);
    return this.#exchange(old, pieces);
  }

  /** Takes that a file is gone. @returns the ids of the objects that may have changed */
  remove(file: string): ReadonlySet<string> {
    const old = this.#files.get(file) ?? [];
    this.#files.delete(file);
    return this.#exchange(old, []);
  }

  async #read(
    file: string,
    text: string,
    old: readonly Piece[],
    breathe: Breathe,
  ): Promise<Piece[] | undefined> {
    const report = new FileReport(this.#log, file);
    try {
      const documents = splitDocuments(text);
      if (documents === undefined) {
        return parseManifests(text).map(({ line, objects }, index) => ({
          // Never equal to a piece of another reading: the whole file is read again when anything in it changed.
          text: '',
          declarations: this.#declare(file, { line, number: index + 1 }, objects, report),
        }));
      }
      return await this.#readDocuments(file, documents, old, report, breathe);
    } catch (error) {
      if (!(error instanceof NotYamlError)) throw error;
      this.#log.error(
        {
          file,
          line: error.line,
          reason: error.message,
          remedy:
            old.length === 0
              ? 'mend it'
              : 'mend it; until then the last good version of the file stays in force',
        },
        'A manifest file is not YAML',
      );
      return undefined;
    } finally {
      report.end();
    }
  }

  async #readDocuments(
    file: string,
    documents: readonly DocumentText[],
    old: readonly Piece[],
    report: FileReport,
    breathe: Breathe,
  ): Promise<Piece[]> {
    const reuse = unchangedPieces(documents, old);
    const pieces: Piece[] = [];
    for (const [index, document] of documents.entries()) {
      if (index % 16 === 0) await breathe();
      const same = reuse(index, document.text);
      if (same !== undefined) {
        for (const declaration of same.declarations) {
          declaration.document = index + 1;
          declaration.line = document.line;
        }
        // The text of the old reading would keep its whole file in memory.
        same.text = document.text;
        pieces.push(same);
        continue;
      }
      const place = { line: document.line, number: index + 1 };
      const declarations = this.#declare(file, place, parseManifest(document), report);
      const [first] = declarations;
      // One that lost its name is taken for the one that stood in its place, which thereby stays in force.
      if (first !== undefined && first.id === undefined) first.id = old[index]?.declarations[0]?.id;
      pieces.push({ text: document.text, declarations });
    }
    return pieces;
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
        this.#sound = false;
        for (const problem of object.problems) report.problem(number, object.id, problem);
        declarations.push({ file, document: number, line, id: object.id, resource: undefined });
      }
    }
    return declarations;
  }

  #exchange(old: readonly Piece[], now: readonly Piece[]): ReadonlySet<string> {
    const kept = new Set(now);
    const known = new Set(old);
    const touched = new Set<string>();
    for (const piece of old) {
      if (kept.has(piece)) continue;
      for (const declaration of piece.declarations) this.#drop(declaration, touched);
    }
    for (const piece of now) {
      if (known.has(piece)) continue;
      for (const declaration of piece.declarations) this.#add(declaration, touched);
    }
    return touched;
  }

  #add(declaration: Declaration, touched: Set<string>): void {
    const { id } = declaration;
    if (id === undefined) return;
    if (this.#objects >= maxObjects) {
      this.#sound = false;
      this.#log.error({ file: declaration.file, limit: maxObjects }, 'A manifest holds too many objects');
      return;
    }
    this.#objects += 1;
    touched.add(id);
    const others = this.of(id);
    if (others.length === 0) this.#byId.set(id, declaration);
    else this.#byId.set(id, [...others, declaration].sort(byPlace));
  }

  #drop(declaration: Declaration, touched: Set<string>): void {
    const { id } = declaration;
    if (id === undefined) return;
    const others = this.of(id).filter((other) => other !== declaration);
    if (others.length === this.of(id).length) return;
    this.#objects -= 1;
    touched.add(id);
    const [only] = others;
    if (only === undefined) this.#byId.delete(id);
    else this.#byId.set(id, others.length === 1 ? only : others);
  }
}

/** What one reading of a file has to say. */
class FileReport {
  readonly #log: Log;
  readonly #file: string;
  readonly #foreign = new Set<string>();

  constructor(log: Log, file: string) {
    this.#log = log;
    this.#file = file;
  }

  foreign(kind: string): void {
    this.#foreign.add(kind);
  }

  problem(document: number, id: string | undefined, problem: PlacedProblem): void {
    const { line, path, value, reason, remedy } = problem;
    this.#log.error(
      {
        file: this.#file,
        document,
        line,
        ...(id === undefined ? {} : { object: id }),
        field: path,
        // Named `found` because the log hides every field called `value`.
        ...(value === undefined ? {} : { found: value }),
        reason,
        remedy,
      },
      'A manifest is not valid',
    );
  }

  end(): void {
    if (this.#foreign.size === 0) return;
    this.#log.info(
      { file: this.#file, kinds: [...this.#foreign] },
      'Left out objects of kinds that are for a cluster',
    );
  }
}

function byPlace(a: Declaration, b: Declaration): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.document - b.document;
}

/**
 * Finds for each document the old piece with the same text. Most changes touch one place, so the pieces before and
 * after it are compared in step; only what lies between is looked up. Each piece is given out once.
 */
function unchangedPieces(
  documents: readonly DocumentText[],
  old: readonly Piece[],
): (index: number, text: string) => Piece | undefined {
  const shorter = Math.min(documents.length, old.length);
  let head = 0;
  while (head < shorter && documents[head]?.text === old[head]?.text) head += 1;
  let tail = 0;
  while (tail < shorter - head && documents.at(-1 - tail)?.text === old.at(-1 - tail)?.text) tail += 1;
  const middle = new Map<string, Piece>();
  for (const piece of old.slice(head, old.length - tail)) middle.set(piece.text, piece);
  return (index, text) => {
    if (index < head) return old[index];
    const fromEnd = documents.length - index;
    if (fromEnd <= tail) return old[old.length - fromEnd];
    const piece = middle.get(text);
    middle.delete(text);
    return piece;
  };
}
