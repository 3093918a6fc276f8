import { diffArrays } from 'diff/lib/diff/array.js';

/** One line of a comparison: in both texts, in the old one alone, or in the new one alone. */
export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new';
  readonly text: string;
}

/** With more changes the texts count as wholly different, because the time grows with the square of the number. */
const mostChanges = 1_000;

/** Compares two texts line by line. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const changes = diffArrays(old, now, { maxEditLength: mostChanges }) ?? [
    { removed: true, added: false, value: old },
    { removed: false, added: true, value: now },
  ];
  return changes.flatMap(({ removed, added, value }) => {
    const kind = removed ? 'old' : added ? 'new' : 'same';
    return value.map((text): DiffLine => ({ kind, text }));
  });
}
