/** Lines around a change that are shown with it. */
const around = 3;
/** Larger changes are shown as all of the old and all of the new: comparing costs the product of the two. */
const mostCompared = 4_000_000;

type Line = readonly [mark: ' ' | '-' | '+', text: string];

/** The differences of two texts, line by line as `diff -u` writes them without file names; empty where there are none. */
export function textDiff(before: string, after: string): string {
  if (before === after) return '';
  const lines = compared(linesOf(before), linesOf(after));
  const shown = new Set<number>();
  for (const [index, [mark]] of lines.entries()) {
    if (mark === ' ') continue;
    for (let near = index - around; near <= index + around; near += 1) shown.add(near);
  }
  const text: string[] = [];
  let last = -1;
  for (const [index, [mark, line]] of lines.entries()) {
    if (!shown.has(index)) continue;
    if (index !== last + 1) text.push('...');
    text.push(`${mark}${line}`);
    last = index;
  }
  return `${text.join('\n')}\n`;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** What both begin and end with is set aside; the rest is compared by its longest common subsequence. */
function compared(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (line: string): Line => [' ', line];
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

function middle(before: readonly string[], after: readonly string[]): Line[] {
  const columns = after.length + 1;
  if (before.length * columns > mostCompared) {
    return [...before.map((line): Line => ['-', line]), ...after.map((line): Line => ['+', line])];
  }
  // lengths[i * columns + j]: of the longest common subsequence of before from i and after from j.
  const lengths = new Uint32Array((before.length + 1) * columns);
  const at = (i: number, j: number): number => lengths[i * columns + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * columns + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const old = before[i];
    const fresh = after[j];
    if (old !== undefined && old === fresh) {
      lines.push([' ', old]);
      i += 1;
      j += 1;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(['-', old]);
      i += 1;
    } else if (fresh !== undefined) {
      lines.push(['+', fresh]);
      j += 1;
    }
  }
  return lines;
}
