import type { Resource } from '../../resources/resource.ts';
import {
  type Declared,
  type PlacedProblem,
  parseManifest,
  parseManifests,
  resourceId,
} from './parse-manifest.ts';
import { needsParserToSplit, splitDocuments } from './split-documents.ts';

/** An object that a manifest declares. */
export interface Declaration {
  readonly file: string;
  /** Position of its document in the file, from 1, and the line it starts on. */
  readonly document: number;
  readonly line: number;
  /** Undefined if the document does not even say which object it is. */
  readonly id: string | undefined;
  /** Undefined if the declaration is not valid; `problems` say why. */
  readonly resource: Resource | undefined;
  readonly problems: readonly PlacedProblem[];
}

/** Lets other work run; called often while a large file is read. */
export type Breathe = () => Promise<void>;

/** A document as it was last read. Lines of problems count from its first line, because a document may move. */
interface ReadDocument {
  readonly text: string;
  readonly objects: readonly Declared[];
}

/** A document, and the line of the file that it starts on. */
export interface PlacedDocument {
  readonly line: number;
  readonly read: ReadDocument;
}

/** Reads the documents of a file; one whose text is in `before` is taken from there. @throws NotYamlError */
export async function readDocuments(
  text: string,
  before: readonly PlacedDocument[],
  breathe: Breathe,
): Promise<PlacedDocument[]> {
  // The last one first, because `pop` takes the last: documents with the same text keep their order.
  const unchanged = Map.groupBy(before.toReversed(), ({ read }) => read.text);
  const documents: PlacedDocument[] = [];
  for (const { text: piece, line } of splitDocuments(text)) {
    if (documents.length % 16 === 0) await breathe();
    if (needsParserToSplit(piece)) return readWhole(text);
    const known = unchanged.get(piece)?.pop()?.read;
    const read = known ?? readDocument(piece, line, before[documents.length]?.read);
    documents.push({ line, read });
  }
  return documents;
}

/** @param inItsPlace the document that was at the same position of the file before */
function readDocument(text: string, line: number, inItsPlace: ReadDocument | undefined): ReadDocument {
  const objects = fromFirstLine(parseManifest({ text, line }), line);
  const [first, ...others] = objects;
  if (first === undefined || !('problems' in first) || first.id !== undefined) return { text, objects };
  // A document that lost its name is taken for the one that was in its place, which thereby stays in force.
  return { text, objects: [{ ...first, id: inItsPlace?.objects.map(idOf)[0] }, ...others] };
}

/** Reads a file that only the YAML parser can split: all of it is read again when anything in it changes. */
function readWhole(text: string): PlacedDocument[] {
  return parseManifests(text).map(({ line, objects }) => ({
    line,
    read: { text: '', objects: fromFirstLine(objects, line) },
  }));
}

function fromFirstLine(objects: readonly Declared[], start: number): Declared[] {
  return objects.map((object) => movedBy(object, 1 - start));
}

function movedBy(object: Declared, lines: number): Declared {
  if (!('problems' in object)) return object;
  return {
    ...object,
    problems: object.problems.map((problem) => ({ ...problem, line: problem.line + lines })),
  };
}

/** What a document declares. `document` is its position in the file, from 1. */
export function declarationsOf(
  file: string,
  document: number,
  { line, read }: PlacedDocument,
): Declaration[] {
  const declarations: Declaration[] = [];
  for (const object of read.objects) {
    if ('foreign' in object) continue;
    const moved = movedBy(object, line - 1);
    declarations.push({
      ...{ file, document, line, id: idOf(object) },
      resource: 'resource' in object ? object.resource : undefined,
      problems: 'problems' in moved ? moved.problems : [],
    });
  }
  return declarations;
}

/** The documents that declare each object, in their order. */
export function documentsById(documents: readonly PlacedDocument[]): Map<string, ReadDocument[]> {
  const reads = new Map<string, ReadDocument[]>();
  for (const { read } of documents) {
    for (const object of read.objects) {
      const id = idOf(object);
      if (id !== undefined) reads.set(id, [...(reads.get(id) ?? []), read]);
    }
  }
  return reads;
}

function idOf(object: Declared): string | undefined {
  if ('foreign' in object) return undefined;
  return 'resource' in object ? resourceId(object.resource) : object.id;
}
