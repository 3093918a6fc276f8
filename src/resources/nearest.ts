/** The entry of `known` that `written` most likely means; undefined if none is similar. */
export function nearest(written: string, known: readonly string[]): string | undefined {
  const wanted = written.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let least = Math.floor(wanted.length / 3) + 1;
  for (const name of known) {
    const distance = edits(wanted, name.toLowerCase());
    if (distance < least) {
      best = name;
      least = distance;
    }
  }
  return best ?? known.find((name) => wanted.length > 2 && name.toLowerCase().startsWith(wanted));
}

/** How many edits turn one text into the other: adding, removing or replacing a character, or swapping two neighbours. */
function edits(left: string, right: string): number {
  let aboveThat: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...left].entries()) {
    const line = [row + 1];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (letter === right.charAt(column - 1) ? 0 : 1);
      const isSwapped =
        letter === right.charAt(column - 2) && left.charAt(row - 1) === right.charAt(column - 1);
      const swapped = isSwapped ? (aboveThat[column - 2] ?? replaced) + 1 : replaced;
      line.push(Math.min(replaced, swapped, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    aboveThat = above;
    above = line;
  }
  return above[right.length] ?? 0;
}
