import { type ArrayChange, diffArrays } from 'diff';

/** With more changes the texts count as wholly different, because the time grows with the square of the number. */
const mostChanges = 4_000;

/** The runs of lines that are in both texts, only in the old one (`removed`), or only in the new one (`added`). */
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
