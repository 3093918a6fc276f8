import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, type Pair, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { alignLists } from './align-lists.ts';
import { canChangeInside, entryId, jsOf, keyOf, type Reading, scalarSplice } from './yaml-reading.ts';
import { contentEnd, lineEnd, lineStart, type Splice, skipBlank, UnspliceableError } from './yaml-source.ts';
import { inFlow } from './yaml-style.ts';

interface Item {
  readonly id: string;
  readonly value: unknown;
  /** Where what it says begins and ends. */
  readonly start: number;
  readonly end: number;
  /** Where its comma stands; undefined for a last one without. */
  readonly comma: number | undefined;
  readonly node: unknown;
}

/** Changes within `[…]` or `{…}`: commas are set and taken away, and one entry to a line stays one entry to a line. */
export function flowSplices(reading: Reading, node: YAMLMap | YAMLSeq, wanted: object): Splice[] {
  const { text, style } = reading;
  const range = node.range;
  if (!range) throw new UnspliceableError('a collection has no place');
  const items = itemsOf(reading, node, range[0]);
  const isSeq = Array.isArray(wanted);
  const wantedItems: [id: string, value: unknown][] = isSeq
    ? (wanted as unknown[]).map((value) => [entryId(value), value])
    : Object.entries(wanted);
  const alignment = alignLists(
    items.map(({ id }) => id),
    // The order of members means nothing: those that are there stay where they are.
    isSeq ? wantedItems.map(([id]) => id) : inOrderOf(items, wantedItems),
  );
  if (alignment === undefined) throw new UnspliceableError('a list has an entry twice');
  const ordered = isSeq ? wantedItems.map(([id]) => id) : inOrderOf(items, wantedItems);
  const values = new Map(wantedItems);
  if (wantedItems.length === 0) return [{ start: range[0], end: range[1], text: isSeq ? '[]' : '{}' }];
  const like = items.map(({ node: each }) => each).find((each): each is Scalar => isScalar(each))?.type;
  const print = (index: number) => {
    const id = ordered[index] ?? '';
    const value = inFlow(values.get(id), style, isSeq ? like : undefined);
    if (isSeq) return value;
    return style.isJson ? `${JSON.stringify(id)}: ${value}` : `${inFlow(id, style)}: ${value}`;
  };
  const splices: Splice[] = [];
  for (const [place, index] of alignment.kept) {
    const item = items[place];
    const now = values.get(ordered[index] ?? '');
    if (item === undefined || isDeepStrictEqual(item.value, now)) continue;
    splices.push(...changed(reading, item, now));
  }
  const whole = text.slice(range[0], range[1]);
  if (alignment.kept.length === 0 && !whole.includes('\n')) {
    const pad = /^[[{] /.test(whole) || (whole === '{}' && !style.isJson) ? ' ' : '';
    const [open = '', close = ''] = isSeq ? '[]' : '{}';
    const texts = ordered.map((_, index) => print(index)).join(', ');
    return [{ start: range[0], end: range[1], text: `${open}${pad}${texts}${pad}${close}` }];
  }
  const removed = new Set(alignment.removed);
  for (const place of removed) splices.push(removal(text, items, place, removed));

  const lastKept = items.findLastIndex((_, place) => !removed.has(place));
  const groups = Map.groupBy(alignment.added, ({ after }) => after);
  for (const [after, group] of groups) {
    splices.push(
      ...addition(
        text,
        range,
        items,
        after,
        lastKept,
        group.map(({ now }) => print(now)),
      ),
    );
  }
  const tail = items[lastKept];
  // A comma behind the last one is nothing to JSON, and was not there before.
  if (
    !groups.has(lastKept) &&
    tail?.comma !== undefined &&
    lastKept < items.length - 1 &&
    items.at(-1)?.comma === undefined
  ) {
    splices.push({ start: tail.comma, end: tail.comma + 1, text: '' });
  }
  return splices;
}

function itemsOf(reading: Reading, node: YAMLMap | YAMLSeq, open: number): Item[] {
  const { text } = reading;
  let from = open + 1;
  return (node.items as unknown[]).map((each) => {
    const pair = isMap(node) ? (each as Pair) : undefined;
    const value = pair === undefined ? each : pair.value;
    const start = skipBlank(text, from);
    const end = contentEnd(text, value) ?? (pair === undefined ? undefined : emptyEnd(text, pair));
    if (end === undefined) throw new UnspliceableError('an entry is empty');
    const next = skipBlank(text, end);
    const comma = text[next] === ',' ? next : undefined;
    from = comma === undefined ? end : comma + 1;
    const js = jsOf(reading, value);
    return { id: pair === undefined ? entryId(js) : keyOf(pair), value: js, start, end, comma, node: value };
  });
}

function emptyEnd(text: string, pair: Pair): number | undefined {
  const end = isScalar(pair.key) ? pair.key.range?.[1] : undefined;
  if (end === undefined) return undefined;
  const colon = skipBlank(text, end);
  return text[colon] === ':' ? colon + 1 : end;
}

function changed(reading: Reading, item: Item, wanted: unknown): Splice[] {
  if (canChangeInside(item.node, wanted)) return reading.inside(item.node, wanted);
  const scalar = scalarSplice(reading, item.node, wanted, true);
  if (scalar !== undefined) return [scalar];
  const range = (item.node as { range?: readonly number[] } | null)?.range;
  const [start, end] = range ?? [];
  if (start === undefined || end === undefined || start === end)
    throw new UnspliceableError('a value is empty');
  return [{ start, end, text: inFlow(wanted, reading.style) }];
}

/** One entry with its comma; with its whole line where it stands alone on it. */
function removal(text: string, items: readonly Item[], place: number, removed: ReadonlySet<number>): Splice {
  const item = items[place];
  if (item === undefined) throw new UnspliceableError('an entry is gone');
  const { start, end, comma } = item;
  const stop = comma === undefined ? end : comma + 1;
  const line = lineStart(text, start);
  const isAloneBefore = text.slice(line, start).trim() === '' && line > 0;
  const behind = text.slice(stop, lineEnd(text, stop));
  if (isAloneBefore && /^[ \t]*(?:#[^\n]*)?\r?\n$/.test(behind))
    return { start: line, end: lineEnd(text, stop), text: '' };
  const next = items[place + 1];
  if (next !== undefined) {
    const isSameLine = !text.slice(stop, next.start).includes('\n');
    return { start, end: isSameLine ? next.start : stop, text: '' };
  }
  // The blank before it goes with it.
  const before = items[place - 1];
  const from = before?.comma === undefined || removed.has(place - 1) ? start : before.comma + 1;
  return {
    start: text.slice(from, start).trim() === '' && !text.slice(from, start).includes('\n') ? from : start,
    end: stop,
    text: '',
  };
}

function addition(
  text: string,
  range: readonly [number, number, number],
  items: readonly Item[],
  after: number,
  lastKept: number,
  texts: readonly string[],
): Splice[] {
  const item = items[after];
  const model = item ?? items[0];
  const line = model === undefined ? '' : text.slice(lineStart(text, model.start), model.start);
  const isOnePerLine = model !== undefined && line.trim() === '' && lineStart(text, model.start) > range[0];
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = isOnePerLine ? lineBreak + line : ' ';
  if (item !== undefined) {
    const added = texts.map((each) => `,${gap}${each}`).join('');
    const isLast = after === lastKept;
    // The comma that stood behind it now stands behind the last of the new ones, if anything follows or one always did.
    const keepsComma = item.comma === undefined || !isLast || items.at(-1)?.comma !== undefined;
    if (keepsComma) return [{ start: item.end, end: item.end, text: added }];
    return [
      { start: item.end, end: item.end, text: added },
      { start: item.comma ?? item.end, end: (item.comma ?? item.end) + 1, text: '' },
    ];
  }
  const follows = lastKept !== -1;
  if (model !== undefined && follows) {
    return [{ start: model.start, end: model.start, text: texts.map((each) => `${each},${gap}`).join('') }];
  }
  const open = range[0] + 1;
  const inner = text.slice(open, range[1] - 1);
  const pad = isOnePerLine ? lineBreak + line : inner.startsWith(' ') && text[range[0]] === '{' ? ' ' : '';
  return [{ start: open, end: open, text: pad + texts.join(`,${gap}`) }];
}

function inOrderOf(items: readonly Item[], wanted: readonly (readonly [string, unknown])[]): string[] {
  const ids = new Set(wanted.map(([id]) => id));
  const old = items.map(({ id }) => id).filter((id) => ids.has(id));
  const known = new Set(old);
  return [...old, ...wanted.map(([id]) => id).filter((id) => !known.has(id))];
}
