import { type Document, isMap, isSeq, LineCounter, parseAllDocuments, parseDocument } from 'yaml';
import type { Problem } from '../../resources/problem.ts';
import type { Resource } from '../../resources/resource.ts';
import { offsetOf, pathParts } from '../../store/folder/field-offset.ts';
import {
  type Declared,
  NotYamlError,
  parseManifest,
  parseManifests,
  resourceId,
} from '../../store/folder/parse-manifest.ts';
import { type DocumentText, needsParserToSplit, splitDocuments } from '../../store/folder/split-documents.ts';
import { scalarText } from '../edit/changed-document.ts';
import { type Finding, finding, keyTextOffsets } from './finding.ts';

/** One object of a file, as far as it could be read. */
export interface CheckedObject {
  readonly file: string;
  /** `Kind/namespace/name`; undefined if the document does not say it. */
  readonly id: string | undefined;
  /** Undefined if the object is not valid, or of another API. */
  readonly resource: Resource | undefined;
  readonly problems: readonly Problem[];
  /** The kind of an object of another API; undefined for one of ours. */
  readonly foreign: string | undefined;
  /** The object in the file, without defaults. Parses the document again. */
  raw(): unknown;
  /** The place of a field such as `spec.models[2].name`. Parses the document again. */
  place(field: string): Place;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** What one file holds. */
export interface CheckedFile {
  readonly objects: readonly CheckedObject[];
  readonly findings: readonly Finding[];
}

const template = /\{\{[^{}\n]*\}\}/;
// The parser's own messages quote the text. Our own reading reports problems before.
const yamlOptions = { stringKeys: true, prettyErrors: false, logLevel: 'silent' } as const;

/** Reads the objects of a file, with the findings that need only its text. */
export function readFile(file: string, text: string): CheckedFile {
  const objects: CheckedObject[] = [];
  const findings: Finding[] = keyTextFindings(file, text);
  const documents = [...splitDocuments(text)];
  if (documents.some((document) => needsParserToSplit(document.text))) {
    guarded(file, findings, { text, line: 1 }, () => {
      for (const [index, document] of parseManifests(text).entries()) {
        const parse = whole(text, index);
        objects.push(...document.objects.map((declared, item) => checked(file, declared, item, parse)));
      }
    });
    return { objects, findings };
  }
  for (const document of documents) {
    guarded(file, findings, document, () => {
      const parse = single(document);
      objects.push(...parseManifest(document).map((declared, item) => checked(file, declared, item, parse)));
    });
  }
  return { objects, findings };
}

function guarded(file: string, findings: Finding[], document: DocumentText, read: () => void): void {
  const place = { file, object: undefined, field: '', column: 1 };
  if (template.test(document.text)) {
    if (!document.text.includes('modelgateway.dev/')) return;
    const message = 'this is a template, which is not checked';
    const remedy = 'pipe the rendered manifests into `model-gateway check -`';
    findings.push(finding('not-judged', { ...place, line: document.line, message, remedy }));
    return;
  }
  try {
    read();
  } catch (error) {
    if (!(error instanceof NotYamlError)) throw error;
    const { line, message } = error;
    findings.push(finding('yaml', { ...place, line, message, remedy: 'correct it' }));
  }
}

/** A document that was parsed whole, with the offset of its text and the line that the text begins on. */
interface Parsed {
  readonly document: Document;
  place(offset: number): Place;
}

function single({ text, line }: DocumentText): () => Parsed {
  return () => {
    const lineCounter = new LineCounter();
    const document = parseDocument(text, { ...yamlOptions, lineCounter });
    return { document, place: (offset) => placeIn(lineCounter, offset, line) };
  };
}

function whole(text: string, index: number): () => Parsed {
  return () => {
    const lineCounter = new LineCounter();
    const documents = parseAllDocuments(text, { ...yamlOptions, lineCounter });
    const document = Array.isArray(documents) ? documents[index] : undefined;
    return {
      document: document ?? parseDocument('', yamlOptions),
      place: (offset) => placeIn(lineCounter, offset, 1),
    };
  };
}

function placeIn(lines: LineCounter, offset: number, firstLine: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: line + firstLine - 1, column: col };
}

function checked(file: string, declared: Declared, item: number, parse: () => Parsed): CheckedObject {
  const base = (document: Document): (string | number)[] => (isList(document) ? ['items', item] : []);
  return {
    file,
    id: 'resource' in declared ? resourceId(declared.resource) : 'id' in declared ? declared.id : undefined,
    resource: 'resource' in declared ? declared.resource : undefined,
    problems: 'problems' in declared ? declared.problems : [],
    foreign: 'foreign' in declared ? declared.foreign : undefined,
    raw() {
      const { document } = parse();
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      return isList(document) ? (value as { items: unknown[] }).items[item] : value;
    },
    place(field) {
      const { document, place } = parse();
      return place(offsetOf(document, [...base(document), ...pathParts(field)]));
    },
  };
}

/** By the same rule as `parseManifest`. */
function isList({ contents }: Document): boolean {
  if (!isMap(contents) || contents.get('kind') !== 'List') return false;
  return contents.get('apiVersion') === 'v1' && isSeq(contents.get('items'));
}

/** Keys in clear text anywhere: in fields, in comments, and in files that are not YAML. */
function keyTextFindings(file: string, text: string): Finding[] {
  const offsets = keyTextOffsets(text);
  if (offsets.length === 0) return [];
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  const documents = parsedSafely(text);
  return offsets.map((offset) => {
    const { line, col } = lines.linePos(offset);
    return finding('key-text', {
      file,
      line,
      column: col,
      object: undefined,
      field: fieldIn(documents, offset) ?? '',
      message: 'this text looks like a key, and everybody who can read the file can use it',
      remedy: 'revoke it; keep the new one in a Secret outside of Git, or seal it with `model-gateway seal`',
    });
  });
}

/** Keys are rare, so a file with one may be parsed again. A file that is not YAML has no fields. */
function parsedSafely(text: string): Document[] {
  if (text.length > 1_000_000) return [];
  try {
    const documents = parseAllDocuments(text, yamlOptions);
    return Array.isArray(documents) ? documents : [];
  } catch {
    return [];
  }
}

function fieldIn(documents: readonly Document[], offset: number): string | undefined {
  const document = documents.find(({ contents }) => holds(contents, offset));
  return document && fieldAt(document.contents, offset);
}

/** The field whose value contains an offset; undefined if none does, such as in a comment. */
function fieldAt(node: unknown, offset: number): string | undefined {
  if (isMap(node)) {
    const pair = node.items.find(({ value }) => holds(value, offset));
    return pair && joined(scalarText(pair.key), fieldAt(pair.value, offset));
  }
  if (isSeq(node)) {
    const index = node.items.findIndex((item) => holds(item, offset));
    return index === -1 ? undefined : joined(`[${index}]`, fieldAt(node.items[index], offset));
  }
  return '';
}

function joined(name: string, below: string | undefined): string | undefined {
  if (below === undefined) return undefined;
  if (below === '') return name;
  return below.startsWith('[') ? `${name}${below}` : `${name}.${below}`;
}

function holds(node: unknown, offset: number): boolean {
  const range = (node as { range?: readonly number[] } | null | undefined)?.range;
  return range?.[0] !== undefined && range[1] !== undefined && range[0] <= offset && offset < range[1];
}
