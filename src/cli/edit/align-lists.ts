/** How a list becomes another one. */
export interface Alignment {
  /** Pairs of positions of the same entry, both rising: these stay where they are. */
  readonly kept: readonly (readonly [old: number, now: number])[];
  readonly removed: readonly number[];
  /** New entries in order, each after the old position that it follows; -1 for those before all. */
  readonly added: readonly { readonly after: number; readonly now: number }[];
}

/**
 * Finds the longest run of entries that both lists have in the same order, entries being told apart by their ids.
 * @returns undefined when an id repeats
 */
export function alignLists(old: readonly string[], now: readonly string[]): Alignment | undefined {
  const places = new Map(old.map((id, index) => [id, index]));
  if (places.size !== old.length || new Set(now).size !== now.length) return undefined;
  const kept = longestRising(
    now.flatMap((id, index): [number, number][] => {
      const place = places.get(id);
      return place === undefined ? [] : [[place, index]];
    }),
  );
  const stays = new Set(kept.map(([place]) => place));
  const byNow = new Map(kept.map(([place, index]) => [index, place]));
  const added: { after: number; now: number }[] = [];
  let after = -1;
  for (const index of now.keys()) {
    const place = byNow.get(index);
    if (place === undefined) added.push({ after, now: index });
    else after = place;
  }
  return { kept, removed: [...old.keys()].filter((place) => !stays.has(place)), added };
}

/** The longest subsequence whose first numbers rise (patience sorting). */
function longestRising(pairs: readonly [number, number][]): [number, number][] {
  const tails: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [at, [place]] of pairs.entries()) {
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tails[middle] ?? 0]?.[0] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    before[at] = low === 0 ? undefined : tails[low - 1];
    tails[low] = at;
  }
  const run: [number, number][] = [];
  for (let at = tails.at(-1); at !== undefined; at = before[at]) {
    const pair = pairs[at];
    if (pair !== undefined) run.unshift(pair);
  }
  return run;
}
