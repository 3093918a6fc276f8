import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'yaml';
import { carryLines } from './carry-lines.ts';
import { changeDocument, dropComments } from './changed-document.ts';
import { lineBreakOf, parseSource, UneditableError } from './yaml-source.ts';
import { styleOf } from './yaml-style.ts';

/** What a document says. Throws UneditableError where the text is not YAML or has no such document. */
export function documentValue(text: string, index: number): unknown {
  return valueIn(documentAt(parseSource(text), index));
}

/**
 * The text in which document `index` (from 0) says `wanted`. The YAML library prints the document before and after the
 * change, and only the lines that differ between the two are changed in the text: the library alone would also change
 * unrelated lines in 190 of 1,374 manifests of public repositories. The result is read again and compared; if it says
 * something else, the library prints the whole document, with its comments.
 * Throws UneditableError if that says something else too, as for an alias that would lose its anchor.
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
  const [printed, edited] = printedBoth(text, source, document, wanted, false);
  const ending = source.endsWith('\n') ? lineBreak : '';
  const lines = linesOf(source);
  // Blanks on a line below a block of text would become part of it.
  const withoutBlanks = lines.map((line) => (line.trim() === '' ? '' : line));
  const attempts = [
    () => carryLines(lines, printed, edited, true),
    () => carryLines(withoutBlanks, printed, edited, true),
    () => carryLines(lines, printed, edited, false),
    () => carryLines(withoutBlanks, printed, edited, false),
    () => printedBoth(text, source, documentAt(parseSource(text), index), wanted, true)[1],
  ];
  for (const attempt of attempts) {
    const whole = text.slice(0, start) + mark + attempt().join(lineBreak) + ending + text.slice(end);
    // A block of text at the very end says its last line break only if there is one.
    const result = [whole, whole + lineBreak].find((each) => says(each, index, wanted, others));
    if (result !== undefined) return result;
  }
  throw cannot();
}

function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** The lines of the document as it is and as it should be, both in the library's layout. Changes `document`. */
function printedBoth(
  text: string,
  source: string,
  document: Document,
  wanted: unknown,
  hasComments: boolean,
): [string[], string[]] {
  if (isJson(source)) {
    const indent = /\n([ \t]+)"/.exec(source)?.[1] ?? '';
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

function documentAt(documents: readonly Document[], index: number): Document {
  const document = documents[index];
  if (document === undefined) throw new UneditableError('it has fewer documents than before');
  return document;
}

function valueIn(document: Document): unknown {
  return document.toJS({ maxAliasCount: 100 });
}
