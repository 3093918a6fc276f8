import { type Document, LineCounter, parseAllDocuments, parseDocument } from 'yaml';
import { isForeign, parseResource } from '../../resources/parse.ts';
import type { Problem } from '../../resources/problem.ts';
import type { Resource } from '../../resources/resource.ts';
import { offsetOf, pathParts } from './field-offset.ts';
import type { DocumentText } from './split-documents.ts';

/** A problem with its line of the file, from 1. */
export type PlacedProblem = Problem & { readonly line: number };

/** One object of a manifest, as far as it could be read. */
export type Declared =
  | { readonly resource: Resource }
  /** `id` (`Kind/namespace/name`) when the object says at least which one it is. */
  | { readonly id: string | undefined; readonly problems: readonly PlacedProblem[] }
  /** The kind of an object that is not for this program. */
  | { readonly foreign: string };

/** The text is not YAML at all. */
export class NotYamlError extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.name = 'NotYamlError';
    this.line = line;
  }
}

/** Largest document in characters; the API server's own limit for an object is lower. */
const maxDocumentLength = 4 * 1024 * 1024;
const maxProblemsOfYaml = 1;
// The parser's own pretty messages quote the text.
const yamlOptions = { stringKeys: true, prettyErrors: false } as const;
const tooDeep = 'it is nested too deeply';
// The parser takes seconds for a megabyte of these, and blocks requests.
const endlessNesting = /(?:[[{]\s*){200}/;

/** `Kind/namespace/name`. */
export function resourceId(resource: Resource): string {
  return `${resource.kind}/${resource.metadata.namespace}/${resource.metadata.name}`;
}

/**
 * Reads the objects of one document: one, or those of a `List`. None for an empty document.
 * @throws NotYamlError when the text is not YAML; the message quotes nothing of it
 */
export function parseManifest(document: DocumentText): Declared[] {
  mustBeShort(document.text, document.line);
  if (endlessNesting.test(document.text)) throw new NotYamlError(tooDeep, document.line);
  const lines = new LineCounter();
  const parsed = guarded(document.line, () =>
    parseDocument(document.text, { ...yamlOptions, lineCounter: lines }),
  );
  return objectsOf(parsed, (offset) => document.line + lines.linePos(offset).line - 1);
}

/** Reads a whole file that `splitDocuments` cannot split. @throws NotYamlError */
export function parseManifests(text: string): { readonly line: number; readonly objects: Declared[] }[] {
  mustBeShort(text, 1);
  if (endlessNesting.test(text)) throw new NotYamlError(tooDeep, 1);
  const lines = new LineCounter();
  const documents = guarded(1, () => parseAllDocuments(text, { ...yamlOptions, lineCounter: lines }));
  if (!Array.isArray(documents)) return [];
  const lineOf = (offset: number) => lines.linePos(offset).line;
  return documents.map((parsed) => ({
    line: lineOf(parsed.range[0]),
    objects: objectsOf(parsed, lineOf),
  }));
}

function mustBeShort(text: string, line: number): void {
  if (text.length <= maxDocumentLength) return;
  throw new NotYamlError(`the document is longer than ${maxDocumentLength} characters; split it`, line);
}

/** The parser is recursive, so a document of brackets can exhaust the stack. */
function guarded<T>(line: number, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new NotYamlError(tooDeep, line);
  }
}

function objectsOf(parsed: Document, lineOf: (offset: number) => number): Declared[] {
  for (const error of parsed.errors.slice(0, maxProblemsOfYaml)) {
    throw new NotYamlError(syntaxText(error.code), lineOf(error.pos[0]));
  }
  const start = parsed.range === null || parsed.range === undefined ? 1 : lineOf(parsed.range[0]);
  const value: unknown = guarded(start, () => parsed.toJS({ maxAliasCount: 100 }));
  if (value === null || value === undefined) return [];
  const items = listItems(value);
  if (items === undefined) return [place(declare(value), parsed, [], lineOf)];
  return items.map((item, index) => place(declare(item), parsed, ['items', index], lineOf));
}

function listItems(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { apiVersion, kind, items } = value as Record<string, unknown>;
  return apiVersion === 'v1' && kind === 'List' && Array.isArray(items) ? items : undefined;
}

type Unplaced =
  | { readonly resource: Resource }
  | { readonly id: string | undefined; readonly problems: readonly Problem[] }
  | { readonly foreign: string };

function declare(value: unknown): Unplaced {
  if (isForeign(value)) return { foreign: value.kind };
  const parsed = parseResource(value);
  return 'resource' in parsed ? parsed : { id: claimedId(value), problems: parsed.problems };
}

function claimedId(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { kind, metadata } = value as Record<string, unknown>;
  if (typeof kind !== 'string' || typeof metadata !== 'object' || metadata === null) return undefined;
  const { name, namespace } = metadata as Record<string, unknown>;
  if (typeof name !== 'string') return undefined;
  return `${kind}/${typeof namespace === 'string' ? namespace : 'default'}/${name}`;
}

function place(
  declared: Unplaced,
  document: Document,
  base: readonly (string | number)[],
  lineOf: (offset: number) => number,
): Declared {
  if (!('problems' in declared)) return declared;
  const problems = declared.problems.map((problem) => ({
    ...problem,
    line: lineOf(offsetOf(document, [...base, ...pathParts(problem.path)])),
  }));
  return { id: declared.id, problems };
}

/** The parser's own messages quote the text, which may be a credential. */
function syntaxText(code: string): string {
  return syntaxTexts.get(code) ?? `it is not YAML here (${code.toLowerCase().replaceAll('_', ' ')})`;
}

const syntaxTexts: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    TAB_AS_INDENT: 'a tab indents the line; use spaces',
    DUPLICATE_KEY: 'a field is given twice; remove one of the two',
    BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket is not closed',
    MISSING_CHAR: 'a quote, bracket or colon is missing',
    BLOCK_AS_IMPLICIT_KEY: 'a value holds ": " or the indentation is wrong; put the value in quotes',
    MULTILINE_IMPLICIT_KEY: 'a key runs over several lines; is a colon missing?',
    UNEXPECTED_TOKEN: 'there is text where none is allowed',
    NON_STRING_KEY: 'a field name is not a text',
    KEY_OVER_1024_CHARS: 'a field name is longer than 1,024 characters',
  }),
);
