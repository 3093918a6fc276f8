import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { alignLists } from './align-lists.ts';
import { flowSplices } from './yaml-flow-splices.ts';
import { canChangeInside, entryId, jsOf, keyOf, type Reading, scalarSplice } from './yaml-reading.ts';
import {
  colonEnd,
  contentEnd,
  dashOf,
  isFlow,
  isRestOfLineBlank,
  keyStart,
  lineBreakOf,
  lineEnd,
  lineStart,
  type Splice,
  UnspliceableError,
} from './yaml-source.ts';
import { behindColon, entry, member, styleOf } from './yaml-style.ts';

/**
 * The replacements that make a document say `wanted`: only what differs is touched, and where something is added the
 * lines around it show how. `isCareful` keeps
 * blanks on the lines below a block of text from becoming part of it. Throws UnspliceableError where the text is too unusual.
 */
export function documentSplices(
  text: string,
  document: Document,
  wanted: unknown,
  isCareful = false,
): Splice[] {
  const reading: Reading = {
    text,
    document,
    style: styleOf(document, text, isCareful),
    lineBreak: lineBreakOf(text),
    inside: (node, value) => inside(reading, node, value),
  };
  const root = document.contents;
  if (!isMap(root) || !isMembers(wanted)) throw new UnspliceableError('it is no mapping');
  return inside(reading, root, wanted);
}

function inside(reading: Reading, node: unknown, wanted: unknown): Splice[] {
  if (isMap(node) && isMembers(wanted)) {
    return isFlow(node) ? flowSplices(reading, node, wanted) : mapSplices(reading, node, wanted);
  }
  if (isSeq(node) && Array.isArray(wanted)) {
    return isFlow(node) ? flowSplices(reading, node, wanted) : seqSplices(reading, node, wanted);
  }
  throw new UnspliceableError('a value changes its sort');
}

function mapSplices(reading: Reading, map: YAMLMap, wanted: Record<string, unknown>): Splice[] {
  const pairs = map.items as Pair[];
  const splices: Splice[] = [];
  const seen = new Set<string>();
  for (const [index, pair] of pairs.entries()) {
    const key = keyOf(pair);
    seen.add(key);
    const now = wanted[key];
    if (!Object.hasOwn(wanted, key)) splices.push(memberRemoval(reading, pairs, index, wanted));
    else if (!isDeepStrictEqual(jsOf(reading, pair.value), now)) splices.push(...changed(reading, pair, now));
  }
  const news = Object.entries(wanted).filter(([key]) => !seen.has(key));
  const last = pairs.at(-1);
  if (news.length === 0) return splices;
  if (last === undefined) throw new UnspliceableError('a mapping is empty');
  const { text, style } = reading;
  const [first = last] = pairs;
  const column = columnOf(text, keyStart(first));
  const lines = news.flatMap(([key, value]) => member(key, value, style).split('\n'));
  splices.push(linesAfter(reading, contentEnd(text, last.value) ?? colonEnd(last), lines, column));
  return splices;
}

/** The replacement of a member's value; within it where it can be, else all that stands behind the colon. */
function changed(reading: Reading, pair: Pair, wanted: unknown): Splice[] {
  const { text, style, lineBreak } = reading;
  const { value } = pair;
  if (canChangeInside(value, wanted)) return inside(reading, value, wanted);
  const scalar = scalarSplice(reading, value, wanted, false);
  if (scalar !== undefined) return [scalar];
  const start = colonEnd(pair);
  const end = contentEnd(text, value) ?? start;
  const lines = behindColon(wanted, style).split('\n');
  const [first = '', ...others] = lines.map((line, index) =>
    index === 0 || line === '' ? line : ' '.repeat(columnOf(text, keyStart(pair))) + line,
  );
  const head = first === '' ? '' : ` ${first}`;
  const isBlock = (isMap(value) || isSeq(value)) && !isFlow(value) && !isAlias(value);
  // The comment on the key's own line stays there.
  const keyLine = restOfLine(text, start);
  if (isBlock || end === start) {
    const comment = isBlock || isRestOfLineBlank(text, start) ? keyLine : '';
    const stop = isBlock ? end + restOfLine(text, end).length : start + comment.length;
    return [{ start, end: stop, text: [head + comment.trimEnd(), ...others].join(lineBreak) }];
  }
  if (others.length === 0) return [{ start, end, text: head }];
  const rest = restOfLine(text, end);
  if (!isRestOfLineBlank(text, end)) throw new UnspliceableError('something stands behind a value');
  return [{ start, end: end + rest.length, text: [head + rest, ...others].join(lineBreak) }];
}

/** The lines of one member, with its own trailing comment; the comments above it may be about more, and stay. */
function memberRemoval(
  reading: Reading,
  pairs: readonly Pair[],
  index: number,
  wanted: Record<string, unknown>,
): Splice {
  const { text } = reading;
  const pair = pairs[index];
  if (pair === undefined) throw new UnspliceableError('a member is gone');
  const key = keyStart(pair);
  const end = contentEnd(text, pair.value) ?? colonEnd(pair);
  if (text.slice(lineStart(text, key), key).trim() === '') return wholeLines(reading, key, end);
  // The first member of a list's entry stands beside the dash: the next one takes its place.
  const next = pairs[index + 1];
  if (next === undefined || !Object.hasOwn(wanted, keyOf(next)))
    throw new UnspliceableError('a member stands beside a dash');
  const nextKey = keyStart(next);
  if (!isRestOfLineBlank(text, end) || text.slice(lineEnd(text, end), nextKey).trim() !== '') {
    throw new UnspliceableError('a comment stands between two members');
  }
  return { start: key, end: nextKey, text: '' };
}

function seqSplices(reading: Reading, seq: YAMLSeq, wanted: readonly unknown[]): Splice[] {
  const { text, style } = reading;
  const old = seq.items.map((item) => jsOf(reading, item));
  const alignment = alignLists(old.map(entryId), wanted.map(entryId));
  if (alignment === undefined) throw new UnspliceableError('a list has an entry twice');
  const splices: Splice[] = [];
  for (const [place, index] of alignment.kept) {
    if (isDeepStrictEqual(old[place], wanted[index])) continue;
    const item = seq.items[place];
    if (!canChangeInside(item, wanted[index])) throw new UnspliceableError('an entry changes its sort');
    splices.push(...inside(reading, item, wanted[index]));
  }
  const endOf = (place: number) => contentEnd(text, seq.items[place]) ?? dashOf(seq, place) + 1;
  for (const place of alignment.removed) splices.push(wholeLines(reading, dashOf(seq, place), endOf(place)));
  const column = columnOf(text, dashOf(seq, 0));
  const like = seq.items.find((item): item is Scalar => isScalar(item))?.type;
  const groups = Map.groupBy(alignment.added, ({ after }) => after);
  for (const [after, group] of groups) {
    const lines = group.flatMap(({ now }) => entry(wanted[now], style, like).split('\n'));
    if (after === -1) splices.push(linesBefore(reading, dashOf(seq, 0), lines, column));
    else splices.push(linesAfter(reading, endOf(after), lines, column));
  }
  return splices;
}

function restOfLine(text: string, at: number): string {
  return text.slice(at, lineEnd(text, at)).replace(/\r?\n$/, '');
}

/** Takes away the lines from `start` to `end`, with the comment behind. */
function wholeLines({ text, style, lineBreak }: Reading, start: number, end: number): Splice {
  const from = lineStart(text, start);
  if (text.slice(from, start).trim() !== '')
    throw new UnspliceableError('something stands before it on its line');
  if (!isRestOfLineBlank(text, end)) throw new UnspliceableError('something stands behind it on its line');
  const stop = lineEnd(text, end);
  // A block of text above would take blanks on the lines below for its own, the file's unended last line among them.
  const below = style.isCareful ? (/^(?:[ \t]*\r?\n)*(?:[ \t]+$)?/.exec(text.slice(stop))?.[0] ?? '') : '';
  return { start: from, end: stop + below.length, text: lineBreak.repeat(below.split('\n').length - 1) };
}

function linesAfter(
  { text, lineBreak }: Reading,
  at: number,
  lines: readonly string[],
  column: number,
): Splice {
  if (!isRestOfLineBlank(text, at)) throw new UnspliceableError('something stands behind it on its line');
  const end = lineEnd(text, at);
  const body = indented(lines, column).join(lineBreak);
  const isEnded = text[end - 1] === '\n';
  return { start: end, end, text: isEnded ? body + lineBreak : lineBreak + body };
}

function linesBefore(
  { text, lineBreak }: Reading,
  at: number,
  lines: readonly string[],
  column: number,
): Splice {
  const start = lineStart(text, at);
  if (text.slice(start, at).trim() !== '')
    throw new UnspliceableError('something stands before it on its line');
  return { start, end: start, text: indented(lines, column).join(lineBreak) + lineBreak };
}

function indented(lines: readonly string[], column: number): string[] {
  return lines.map((line) => (line === '' ? '' : ' '.repeat(column) + line));
}

function columnOf(text: string, at: number): number {
  const column = at - lineStart(text, at);
  // A byte order mark takes no column.
  return text.startsWith('\uFEFF') && lineStart(text, at) === 0 ? column - 1 : column;
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
