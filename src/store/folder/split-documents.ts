/** A piece of a file that holds one YAML document. */
export interface DocumentText {
  readonly text: string;
  /** The line of the file it starts on, from 1. */
  readonly line: number;
  /** Where in the file it starts, in characters. */
  readonly start?: number;
}

/**
 * Splits a file at its `---` lines, which end a document everywhere (YAML 1.2, 9.1.2), even inside a quoted or block
 * scalar. Pieces that hold only blanks and comments are left out. The marker stays with the text after it, because a
 * document may start on the same line. A generator, so that the caller can serve requests between the documents.
 */
export function* splitDocuments(text: string): Generator<DocumentText> {
  let start = 0;
  let line = 1;
  while (start < text.length) {
    const end = nextMarker(text, start + 1);
    const piece = text.slice(start, end);
    if (!isBlank(piece)) yield { text: piece, line, start };
    line += countLines(piece);
    start = end;
  }
}

/** Whether a piece may hold directives or a `...` line: then only the YAML parser can split the file. */
export function needsParserToSplit(text: string): boolean {
  return ['%', '...'].some((mark) => text.startsWith(mark) || text.includes(`\n${mark}`));
}

/** Where the next `---` line starts, at `from` or later; the end of the text when there is none. */
function nextMarker(text: string, from: number): number {
  let at = text.indexOf('\n---', from - 1);
  while (at !== -1) {
    const after = text.charAt(at + 4);
    if (after === '' || after === '\n' || after === '\r' || after === ' ' || after === '\t') return at + 1;
    at = text.indexOf('\n---', at + 1);
  }
  return text.length;
}

function isBlank(piece: string): boolean {
  return /^(?:---)?(?:[ \t]*(?:#[^\n]*|\r)?\n)*[ \t]*(?:#[^\n]*|\r)?$/.test(piece);
}

function countLines(piece: string): number {
  let lines = 0;
  for (let at = piece.indexOf('\n'); at !== -1; at = piece.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
