/** One line of a comparison: in both texts, in the old one alone, or in the new one alone. */
export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new';
  readonly text: string;
}

/** Longest middle part (lines of one text times lines of the other) that is compared line by line. */
const mostCells = 4_000_000;

/** Compares two texts line by line: the longest common subsequence of what lies between equal beginnings and ends. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = before.split('\n');
  const now = after.split('\n');
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end++;
  }
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(end === 0 ? [] : old.slice(-end)),
  ];
}

function middle(old: readonly string[], now: readonly string[]): DiffLine[] {
  const gone: DiffLine[] = old.map((text) => ({ kind: 'old', text }));
  const come: DiffLine[] = now.map((text) => ({ kind: 'new', text }));
  if (old.length * now.length > mostCells) return [...gone, ...come];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const [was, is] = [old[i], now[j]];
    if (was !== undefined && was === is) {
      lines.push({ kind: 'same', text: was });
      i++;
      j++;
    } else if (is !== undefined && (was === undefined || at(i, j + 1) > at(i + 1, j))) {
      lines.push({ kind: 'new', text: is });
      j++;
    } else {
      lines.push({ kind: 'old', text: was ?? '' });
      i++;
    }
  }
  return lines;
}
