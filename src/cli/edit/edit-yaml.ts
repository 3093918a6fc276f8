import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'yaml';
import { carryLines } from './carry-lines.ts';
import { changeDocument, dropComments } from './changed-document.ts';
import { lineBreakOf, parseSource, UneditableError } from './yaml-source.ts';
import { styleOf } from './yaml-style.ts';

/** The value of a document. Throws UneditableError if the text is not YAML or has no such document. */
export function documentValue(text: string, index: number): unknown {
  return valueIn(documentAt(parseSource(text), index));
}

/**
 * The text with `wanted` as the value of document `index` (from 0). The YAML library prints the document before and after the
 * change, and only the lines that differ between the two are changed in the text: the library alone would also change
 * unrelated lines in 190 of 1,374 manifests of public repositories. The result is read again and compared; if its value
 * differs, the library prints the whole document, with its comments.
 * Throws UneditableError if that value differs too, such as for an alias that would lose its anchor.
 */
export function editYaml(text: string, index: number, wanted: unknown): string {
  const documents = parseSource(text);
  const document = documentAt(documents, index);
  if (isDeepStrictEqual(valueIn(document), wanted)) return text;
  const others = documents.map((each, at) => (at === index ? undefined : valueIn(each)));
  const start = documents[index - 1]?.range?.[2] ?? 0;
  const end = document.range?.[2] ?? text.length;
  const lineBreak = lineBreakOf(text);
  // A document may begin on the line of its marker, which the library prints on a line of its own, or not at all.
  const [mark = ''] = /^\uFEFF?(?:---[ \t]+(?=[^#\s]))?/.exec(text.slice(start, end)) ?? [];
  const source = text.slice(start + mark.length, end);
  const { above, lines, below, json } = framed(linesOf(source));
  const [printed, edited] = printedBoth(text, json, document, wanted, false);
  const ending = source.endsWith('\n') ? lineBreak : '';
  // Blanks on a line below a block of text would become part of it.
  const withoutBlanks = lines.map((line) => (line.trim() === '' ? '' : line));
  const attempts = [
    () => [...above, ...carryLines(lines, printed, edited, true), ...below],
    () => [...above, ...carryLines(withoutBlanks, printed, edited, true), ...below],
    () => [...above, ...carryLines(lines, printed, edited, false), ...below],
    () => [...above, ...carryLines(withoutBlanks, printed, edited, false), ...below],
    () =>
      json === undefined
        ? printedBoth(text, json, documentAt(parseSource(text), index), wanted, true)[1]
        : [...above, ...edited, ...below],
  ];
  for (const attempt of attempts) {
    const whole = text.slice(0, start) + mark + attempt().join(lineBreak) + ending + text.slice(end);
    // A block of text at the very end may need a last line break.
    const result = [whole, whole + lineBreak].find((each) => says(each, index, wanted, others));
    if (result !== undefined) return result;
  }
  throw cannot();
}

interface Framed {
  /** Comments, blanks and a marker above the document: they stay, whatever happens to its first line. */
  readonly above: readonly string[];
  readonly lines: readonly string[];
  /** Comments and blanks below a document that is JSON; of another one they may be part of a text. */
  readonly below: readonly string[];
  /** The document, if it is JSON. */
  readonly json: string | undefined;
}

function framed(all: readonly string[]): Framed {
  const isBlank = (line: string): boolean => /^(?:\uFEFF?---)?[ \t]*(?:#.*)?$/.test(line);
  const first = Math.max(
    0,
    all.findIndex((line) => !isBlank(line)),
  );
  const last = all.findLastIndex((line) => !isBlank(line)) + 1;
  const json = all.slice(first, last).join('\n');
  if (!isJson(json)) {
    return { above: all.slice(0, first), lines: all.slice(first), below: [], json: undefined };
  }
  return { above: all.slice(0, first), lines: all.slice(first, last), below: all.slice(last), json };
}

function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** The lines of the document as it is and as it should be, both in the library's layout. Changes `document`. */
function printedBoth(
  text: string,
  json: string | undefined,
  document: Document,
  wanted: unknown,
  hasComments: boolean,
): [string[], string[]] {
  if (json !== undefined) {
    const indent = /\n([ \t]+)"/.exec(json)?.[1] ?? '';
    const print = (value: unknown) => linesOf(`${JSON.stringify(value, null, indent)}\n`);
    return [print(valueIn(document)), print(wanted)];
  }
  const style = styleOf(document, text);
  if (!hasComments) dropComments(document);
  const before = document.toString(style);
  try {
    changeDocument(document, wanted);
    return [linesOf(before), linesOf(document.toString(style))];
  } catch {
    // An alias would lose its anchor.
    throw cannot();
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function cannot(): UneditableError {
  return new UneditableError(
    'its YAML is written in a way that cannot be edited safely (anchors and aliases?)',
  );
}

/** Whether the document has its new value, and all others have their old one. */
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

function documentAt(documents: readonly Document[], index: number): Document {
  const document = documents[index];
  if (document === undefined) throw new UneditableError('it has fewer documents than before');
  return document;
}

function valueIn(document: Document): unknown {
  return document.toJS({ maxAliasCount: 100 });
}
