import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Pair,
  parseAllDocuments,
  Scalar,
} from 'yaml';

/** A replacement of a stretch of text. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text cannot be edited in place; the message says why. */
export class UnspliceableError extends Error {
  override readonly name = 'UnspliceableError';
}

/** Parses as standalone mode does, and remembers where everything stands. Throws UnspliceableError. */
export function parseSource(text: string): Document[] {
  const documents = parseAllDocuments(text, {
    stringKeys: true,
    prettyErrors: false,
    keepSourceTokens: true,
  });
  if (!Array.isArray(documents)) return [];
  const faulty = documents.find(({ errors }) => errors.length > 0);
  if (faulty !== undefined) throw new UnspliceableError('it is not YAML');
  return documents as unknown as Document[];
}

/** The text after splices that do not overlap. Throws UnspliceableError when they do. */
export function spliced(text: string, splices: readonly Splice[]): string {
  const ordered = splices
    .map((splice, order) => ({ ...splice, order }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text: replacement } of ordered) {
    if (start < at) throw new UnspliceableError('two changes touch the same place');
    parts.push(text.slice(at, start), replacement);
    at = end;
  }
  return parts.join('') + text.slice(at);
}

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}

/** Behind the line break that ends the line of `at`; the end of the text for the last line. */
export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

/** The line break that the text uses. */
export function lineBreakOf(text: string): '\n' | '\r\n' {
  const first = text.indexOf('\n');
  return first > 0 && text[first - 1] === '\r' ? '\r\n' : '\n';
}

/** Where what a node says ends, without the comment and the line break behind it; undefined for an empty one. */
export function contentEnd(text: string, node: unknown): number | undefined {
  if (!isNode(node) || !node.range) return undefined;
  const [start, end] = node.range;
  if (isScalar(node)) {
    if (node.type !== Scalar.BLOCK_LITERAL && node.type !== Scalar.BLOCK_FOLDED)
      return start === end ? undefined : end;
    return start + text.slice(start, end).trimEnd().length;
  }
  if (isAlias(node) || isFlow(node)) return end;
  if (isMap(node)) {
    const last = node.items.at(-1);
    return last === undefined ? undefined : (contentEnd(text, last.value) ?? colonEnd(last));
  }
  if (isSeq(node)) {
    const index = node.items.length - 1;
    return contentEnd(text, node.items[index]) ?? dashOf(node, index) + 1;
  }
  return undefined;
}

export function isFlow(node: unknown): boolean {
  return (isMap(node) || isSeq(node)) && node.flow === true;
}

/** Behind the colon of a member. Throws UnspliceableError where there is none. */
export function colonEnd(pair: Pair): number {
  const colon = pair.srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  if (colon === undefined) throw new UnspliceableError('a member has no colon');
  return colon.offset + 1;
}

/** Where the key of a member starts. Throws UnspliceableError where it carries an anchor, a tag or a question mark. */
export function keyStart(pair: Pair): number {
  const hasProperties = pair.srcToken?.start.some(({ type }) =>
    ['anchor', 'tag', 'explicit-key-ind'].includes(type),
  );
  const start = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
  if (hasProperties === true || start === undefined) throw new UnspliceableError('a key is not a plain one');
  return start;
}

/** Where the dash of an entry of a block sequence stands. Throws UnspliceableError. */
export function dashOf(seq: { readonly srcToken?: unknown }, index: number): number {
  const token = seq.srcToken as { items?: { start?: { type: string; offset: number }[] }[] } | undefined;
  const dash = token?.items?.[index]?.start?.find(({ type }) => type === 'seq-item-ind');
  if (dash === undefined) throw new UnspliceableError('an entry has no dash');
  return dash.offset;
}

/** Behind blanks, line breaks and comments. */
export function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const letter = text[at] ?? '';
    if (letter === '#') {
      at = lineEnd(text, at);
    } else if (/\s/.test(letter)) {
      at += 1;
    } else {
      break;
    }
  }
  return at;
}

/** Whether nothing but blanks and a comment stands between a place and the end of its line. */
export function isRestOfLineBlank(text: string, at: number): boolean {
  return /^[ \t]*(?:#[^\n]*)?\r?\n?$/.test(text.slice(at, lineEnd(text, at)));
}
