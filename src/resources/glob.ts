/**
 * Compiles a pattern for whole names: `*` matches any text, `?` one character, every other character itself. Matching time is
 * proportional to the name's length for every pattern: a backtracking expression could take minutes on a name that a hostile node
 * lists. (The Shift-And algorithm of Baeza-Yates and Gonnet, with a loop at each `*`.)
 */
export function compileGlob(pattern: string): (name: string) => boolean {
  if (!/[*?]/.test(pattern)) return (name) => name === pattern;
  const characters = [...pattern].filter((character) => character !== '*');
  // Bit n of a set: the first n characters of the pattern are matched.
  const words = (characters.length >> 5) + 1;
  const loops = new Uint32Array(words);
  const any = new Uint32Array(words);
  const places = new Map<string, Uint32Array>();
  let at = 0;
  for (const character of pattern) {
    if (character === '*') set(loops, at);
    else at += 1;
  }
  for (const [index, character] of characters.entries()) {
    if (character === '?') set(any, index + 1);
  }
  for (const [index, character] of characters.entries()) {
    if (character === '?') continue;
    const place = places.get(character) ?? any.slice();
    set(place, index + 1);
    places.set(character, place);
  }
  const end = characters.length;
  const endsOpen = has(loops, end);

  return (name) => {
    const matched = new Uint32Array(words);
    set(matched, 0);
    for (const character of name) {
      const takes = places.get(character) ?? any;
      let carried = 0;
      let isAlive = false;
      for (let word = 0; word < words; word++) {
        const before = matched[word] ?? 0;
        const advanced = ((before << 1) | carried) & (takes[word] ?? 0);
        carried = before >>> 31;
        const after = (advanced | (before & (loops[word] ?? 0))) >>> 0;
        matched[word] = after;
        isAlive ||= after !== 0;
      }
      if (!isAlive) return false;
      if (endsOpen && has(matched, end)) return true;
    }
    return has(matched, end);
  };
}

function set(bits: Uint32Array, at: number): void {
  bits[at >> 5] = ((bits[at >> 5] ?? 0) | (1 << (at & 31))) >>> 0;
}

function has(bits: Uint32Array, at: number): boolean {
  return ((bits[at >> 5] ?? 0) & (1 << (at & 31))) !== 0;
}
