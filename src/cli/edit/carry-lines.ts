import { lineChanges } from '../line-changes.ts';

/**
 * Makes in `text` the changes that lead from `printed` to `edited`, line by line. `printed` means the same as `text`, in
 * another layout and without comments. Unchanged lines stay byte for byte, a changed line keeps the comment at its end,
 * and new lines are indented like those of `text`.
 */
export function carryLines(
  text: readonly string[],
  printed: readonly string[],
  edited: readonly string[],
  isApart: boolean,
): string[] {
  const places = placesOf(text, printed);
  const result: string[] = [];
  // Up to here `text` is in the result, and `printed` has been read.
  let done = 0;
  let read = 0;
  let changed = 0;
  const replace = (removed: readonly string[], added: readonly string[]): void => {
    let first = read;
    if (added.length === 0) first = begun(printed, first, removed.length, changed);
    read += removed.length;
    changed = read;
    const own = removed.length === 0 && !isEntryBefore(added[0], printed[first]) ? undefined : places[first];
    const start = Math.max(done, own ?? behind(places, first));
    let end = start;
    if (removed.length > 0) end = Math.max(start, endOf(text, places, first + removed.length));
    // Blank lines below a block of text count as part of it.
    while (end > start && text[end - 1]?.trim() === '') end -= 1;
    result.push(...text.slice(done, start));
    let [column, shift] = [Number.POSITIVE_INFINITY, 0];
    for (const line of added) {
      if (line !== '' && columnOf(line) < column) {
        column = columnOf(line);
        shift = shiftAt(text, printed, places, read - 1, column);
      }
      result.push(shifted(line, shift));
    }
    done = end;
  };
  const change = (removed: readonly string[], added: readonly string[]): void => {
    if (removed.length + added.length === 0) return;
    const old = !isApart
      ? -1
      : removed.findIndex((line) => added.some((other) => labelOf(other) === labelOf(line)));
    const now = added.findIndex((line) => old !== -1 && labelOf(line) === labelOf(removed[old] ?? ''));
    if (old === -1) {
      replace(removed, added);
      return;
    }
    change(removed.slice(0, old), added.slice(0, now));
    const place = places[read];
    const comment = place === undefined ? '' : commentOf(text[place] ?? '', removed[old] ?? '');
    replace(removed.slice(old, old + 1), [`${added[now]}${comment}`]);
    change(removed.slice(old + 1), added.slice(now + 1));
  };
  let removed: string[] = [];
  for (const part of lineChanges(printed, edited)) {
    if (part.removed) {
      removed = part.value;
      continue;
    }
    if (part.added || removed.length > 0) change(removed, part.added ? part.value : []);
    if (!part.added) read += part.value.length;
    removed = [];
  }
  if (removed.length > 0) change(removed, []);
  return [...result, ...text.slice(done)];
}

/** For each printed line, the index of its line in the text; undefined if it has none. */
function placesOf(text: readonly string[], printed: readonly string[]): (number | undefined)[] {
  const places: (number | undefined)[] = [];
  let at = 0;
  const comparator = (one: string, other: string): boolean => {
    const plain = bare(one);
    const written = bare(other);
    return plain === written || (plain !== '' && written.startsWith(`${plain}#`));
  };
  let unplaced: readonly string[] = [];
  for (const { added, removed, value } of lineChanges(printed, text, comparator)) {
    if (removed) {
      unplaced = value;
      places.push(...value.map(() => undefined));
      continue;
    }
    if (added) {
      // The text writes it in another way, such as with other quotes: the line is found by its key.
      let from = 0;
      for (const [index, line] of unplaced.entries()) {
        const found = value.findIndex((other, place) => place >= from && labelOf(other) === labelOf(line));
        if (found === -1) continue;
        places[places.length - unplaced.length + index] = at + found;
        from = found + 1;
      }
    } else {
      for (let index = 0; index < value.length; index += 1) places.push(at + index);
    }
    unplaced = [];
    at += value.length;
  }
  return places;
}

/** Where removed lines begin. If entries begin alike, a diff may remove the end of one and the start of the next. */
function begun(printed: readonly string[], first: number, length: number, least: number): number {
  let best = first;
  for (let at = first; at > least && printed[at - 1] === printed[at - 1 + length]; at -= 1) {
    if (depthOf(printed[at - 1]) < depthOf(printed[best])) best = at - 1;
  }
  return best;
}

/** The depth of a line. A list may begin in the same column as its key, and is still below it. */
function depthOf(line = ''): number {
  return columnOf(line) + (/^\s*-/.test(line) ? 0.5 : 0);
}

/** Whether an entry is added right before another one. Comments above that one then stay above both. */
function isEntryBefore(added = '', next = ''): boolean {
  return columnOf(added) === columnOf(next) && /^\s*-/.test(added) && /^\s*-/.test(next);
}

/** A line without blanks and quotes, which the library may write in another way. */
function bare(line: string): string {
  return line.replaceAll(/[\s'"]/g, '');
}

/** The comment at the end of a line, with the blanks before it. */
function commentOf(line: string, printed: string): string {
  if (!bare(line).startsWith(bare(printed))) {
    const said = line.slice(0, line.lastIndexOf('#')).trimEnd();
    const rest = line.slice(said.length);
    return /^\s+#/.test(rest) && !/['"]/.test(rest) ? rest : '';
  }
  let left = bare(printed).length;
  let at = 0;
  for (; left > 0; at += 1) if (!/[\s'"]/.test(line[at] ?? '')) left -= 1;
  const rest = line.slice(at).replace(/^['"]/, '');
  return /^\s*#/.test(rest) ? rest : '';
}

/** Identifies a line: its key, for `name` with its value; the whole line if it has no key. */
function labelOf(line: string): string {
  const colon = line.search(/:(?: |$)/);
  if (colon === -1) return line;
  const key = bare(line.slice(0, colon + 1));
  return /\bname:$/.test(key) ? bare(line.split(/[,}]/)[0] ?? line) : key;
}

/** The line of the text that follows the printed lines before `index`. */
function behind(places: readonly (number | undefined)[], index: number): number {
  const before = places.slice(0, index).findLast((place) => place !== undefined);
  return before === undefined ? (places[index] ?? 0) : before + 1;
}

/** Where the printed lines before `index` end in the text. The text may write the last of them on several lines. */
function endOf(text: readonly string[], places: readonly (number | undefined)[], index: number): number {
  const last = places[index - 1];
  const next = places.slice(index).find((place) => place !== undefined) ?? text.length;
  if (last === undefined) return next;
  const head = text[last] ?? '';
  const isBlock = /[|>][-+\d]*$/.test((head.split(/\s#/)[0] ?? '').trimEnd());
  let end = last + 1;
  for (let at = end; at < next; at += 1) {
    const line = text[at] ?? '';
    const isMore = columnOf(line) > columnOf(head) || /^\s*[\]}]/.test(line);
    if (line.trim() === '' || (!isBlock && /^\s*#/.test(line))) continue;
    if (!isMore) break;
    end = at + 1;
  }
  return end;
}

/** How much deeper the text is indented than the printed lines, for a line in `column` near the printed line `near`. */
function shiftAt(
  text: readonly string[],
  printed: readonly string[],
  places: readonly (number | undefined)[],
  near: number,
  column: number,
): number {
  for (let index = Math.min(near, printed.length - 1); index >= 0; index -= 1) {
    const place = places[index];
    const line = printed[index] ?? '';
    if (place !== undefined && line !== '' && columnOf(line) <= column)
      return columnOf(text[place] ?? '') - columnOf(line);
  }
  return 0;
}

function columnOf(line: string): number {
  return line.length - line.trimStart().length;
}

function shifted(line: string, by: number): string {
  if (line === '') return '';
  return by >= 0 ? ' '.repeat(by) + line : line.slice(Math.min(-by, columnOf(line)));
}
