import { lineChanges } from './line-changes.ts';

/** Lines around a change that are shown with it. */
const around = 3;

type Line = readonly [mark: ' ' | '-' | '+', text: string];

/** The differences of two texts, as `diff -u` prints them but without file names; empty if there are none. */
export function textDiff(before: string, after: string): string {
  if (before === after) return '';
  const lines = compared(before, after);
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

function compared(before: string, after: string): Line[] {
  return lineChanges(linesOf(before), linesOf(after)).flatMap(({ added, removed, value }) => {
    const mark = added ? '+' : removed ? '-' : ' ';
    return value.map((line): Line => [mark, line]);
  });
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}
