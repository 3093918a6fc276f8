import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'yaml';
import { lineBreakOf, parseSource, spliced, UnspliceableError } from './yaml-source.ts';
import { documentSplices } from './yaml-splices.ts';

/** What a document says. Throws UnspliceableError where the text is not YAML or has no such document. */
export function documentValue(text: string, index: number): unknown {
  return valueIn(documentAt(parseSource(text), index));
}

/**
 * The text in which document `index` (from 0) says `wanted`. Every line that need not change stays byte for byte:
 * comments, order, quotes, indentation, blank lines. What comes out is read again and compared; where the splicing went
 * wrong, the YAML library prints that one document anew, comments included.
 * Throws UnspliceableError where neither says what it should, as with anchors whose aliases would change too.
 */
export function editYaml(text: string, index: number, wanted: unknown): string {
  const documents = parseSource(text);
  const document = documentAt(documents, index);
  if (isDeepStrictEqual(valueIn(document), wanted)) return text;
  const others = documents.map((each, at) => (at === index ? undefined : valueIn(each)));
  const attempts = [
    () => spliced(text, documentSplices(text, document, wanted)),
    // A block scalar at the very end says its last line break only where there is one.
    () => spliced(text, documentSplices(text, document, wanted)) + lineBreakOf(text),
    // Blanks on the lines below would become part of the block.
    () => spliced(text, documentSplices(text, document, wanted, true)),
    () => printedAnew(text, documents, index, wanted),
  ];
  for (const attempt of attempts) {
    const edited = tried(attempt);
    if (edited !== undefined && says(edited, index, wanted, others)) return edited;
  }
  throw new UnspliceableError(
    'its YAML is written in a way that cannot be edited safely (anchors and aliases?)',
  );
}

function tried(attempt: () => string): string | undefined {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof UnspliceableError || error instanceof ReferenceError || error instanceof Error)
      return undefined;
    throw error;
  }
}

/** Whether the document says what it should, and all others what they did. */
function says(text: string, index: number, wanted: unknown, others: readonly unknown[]): boolean {
  try {
    const documents = parseSource(text);
    if (documents.length !== others.length) return false;
    return documents.every((document, at) =>
      isDeepStrictEqual(valueIn(document), at === index ? wanted : others[at]),
    );
  } catch {
    return false;
  }
}

function printedAnew(text: string, documents: readonly Document[], index: number, wanted: unknown): string {
  const before = documents[index - 1];
  const document = documentAt(documents, index).clone() as Document;
  const [start, end] = [before?.range?.[2] ?? 0, document.range?.[2] ?? text.length];
  setDifferences(document, [], valueIn(document), wanted);
  const printed = document.toString({ lineWidth: 0 });
  const mark = start === 0 && text.startsWith('\uFEFF') ? '\uFEFF' : '';
  return text.slice(0, start) + mark + printed.replaceAll('\n', lineBreakOf(text)) + text.slice(end);
}

function setDifferences(
  document: Document,
  path: readonly (string | number)[],
  now: unknown,
  wanted: unknown,
): void {
  if (isDeepStrictEqual(now, wanted)) return;
  if (!isMembers(now) || !isMembers(wanted)) {
    document.setIn(path, wanted);
    return;
  }
  for (const key of Object.keys(now)) if (!Object.hasOwn(wanted, key)) document.deleteIn([...path, key]);
  for (const [key, value] of Object.entries(wanted)) {
    if (Object.hasOwn(now, key)) setDifferences(document, [...path, key], now[key], value);
    else document.setIn([...path, key], value);
  }
}

function documentAt(documents: readonly Document[], index: number): Document {
  const document = documents[index];
  if (document === undefined) throw new UnspliceableError('it has fewer documents than before');
  return document;
}

function valueIn(document: Document): unknown {
  return document.toJS({ maxAliasCount: 100 });
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
