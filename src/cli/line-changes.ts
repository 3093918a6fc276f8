import { type ArrayChange, diffArrays } from 'diff';

/** Larger differences are all of the old and all of the new: comparing costs the square of their number. */
const mostChanges = 4_000;

/** The stretches of lines that are in both texts, in the old one alone (`removed`) or in the new one alone (`added`). */
export function lineChanges(
  before: readonly string[],
  after: readonly string[],
  comparator: (before: string, after: string) => boolean = (one, other) => one === other,
): ArrayChange<string>[] {
  const [old, now] = [[...before], [...after]];
  return (
    diffArrays(old, now, { comparator, maxEditLength: mostChanges }) ?? [
      { removed: true, added: false, value: old, count: old.length },
      { removed: false, added: true, value: now, count: now.length },
    ]
  );
}
