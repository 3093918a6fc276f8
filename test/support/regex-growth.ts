/** A way to make a backtracking search take more than a time that grows with the length of the text. */
export interface Growth {
  readonly kind: 'polynomial' | 'exponential';
  /** A text that leads there, and the piece to repeat; behind it something that does not match. */
  readonly prefix: string;
  readonly pump: string;
}

/** One character of the pattern, with the sample characters that it takes. */
interface Position {
  readonly takes: ReadonlySet<number>;
  /** Positions that may follow, and in how many ways. */
  readonly next: Map<number, number>;
  /** Whether the pattern may be satisfied behind it, whatever comes. */
  accepts: boolean;
}

/** A part of the pattern as seen from outside. `guarded` ways out or through depend on an assertion. */
interface Part {
  readonly first: Map<number, Way>;
  readonly last: Map<number, Way>;
  /** Ways through without a character: free ones, and those that an assertion may refuse. */
  readonly empty: Way | undefined;
}
interface Way {
  readonly count: number;
  readonly guarded: boolean;
}

const samples = [
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  ...['\u017f', '\u212a', '\u2028', '\u200e', '\u2066', '\ufeff', '\u1680', '\u4e00', '\u0301', '\u{1f600}'],
];
const copies = 3;

/**
 * Whether a search for `regex` may take time that grows faster than the text, for some text. Judged on the automaton of
 * its characters: two ways through one text that begin in the same place and part mean a product (a text p where p goes
 * on in p or in q, and q goes on in q, means a square; two ways from p to p mean a power of two). What matches at once is no
 * danger, so places behind which nothing can fail are left out. Bounded repetitions count as few copies, assertions as
 * always true: it may call a harmless pattern dangerous, but not the other way round.
 *
 * @throws Error for syntax that it does not know
 */
export function growthOf(regex: RegExp): Growth | undefined {
  const automaton = automatonOf(regex);
  return automaton === undefined ? undefined : search(automaton.positions, automaton.start);
}

/** For each repetition of `regex` the text that leads there and the shortest piece that it may repeat. */
export function repetitionsOf(regex: RegExp): Pick<Growth, 'prefix' | 'pump'>[] {
  const automaton = automatonOf(regex);
  if (automaton === undefined) return [];
  const { positions, start } = automaton;
  const at: At = (index) => positions[index] as Position;
  const next: Next = (index) => [...at(index).next.keys()].filter((other) => at(other).takes.size > 0);
  return positions.flatMap((_, index) => {
    const lead = index === start ? [] : walk(next, at, start, index);
    const cycle = lead === undefined ? undefined : walk(next, at, index, index);
    return cycle === undefined ? [] : [{ prefix: textOf(lead), pump: textOf(cycle) }];
  });
}

/** Undefined for a pattern that matches anything. */
function automatonOf(regex: RegExp): { positions: readonly Position[]; start: number } | undefined {
  const positions: Position[] = [];
  const whole = new Parser(regex, positions).whole();
  for (const [at, way] of whole.last) {
    const position = positions[at];
    if (position !== undefined && !way.guarded) position.accepts = true;
  }
  if (whole.empty !== undefined && !whole.empty.guarded) return undefined;
  const firsts = new Map([...whole.first].map(([at, { count }]) => [at, count]));
  // A search begins anew at each character, unless it is bound to the beginning.
  const isBound =
    /^(?:\^|\(\?:\^|\(\^)/.test(regex.source) && !regex.multiline && !hasFreeBranch(regex.source);
  const start = positions.length;
  const any = new Set(samples.keys());
  positions.push({ takes: isBound ? new Set() : any, next: new Map(firsts), accepts: false });
  if (!isBound) positions[start]?.next.set(start, 1);
  return { positions, start };
}

/** Whether a branch at the top of the pattern lacks the `^` that the first has. */
function hasFreeBranch(source: string): boolean {
  let depth = 0;
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const c = source[at];
    if (c === '\\') at += 1;
    else if (inClass) inClass = c !== ']';
    else if (c === '[') inClass = true;
    else if (c === '(') depth += 1;
    else if (c === ')') depth -= 1;
    else if (c === '|' && depth === 0 && source[at + 1] !== '^') return true;
  }
  return /^\((?:\?:)?\^/.test(source);
}

const nothing: Part = { first: new Map(), last: new Map(), empty: { count: 1, guarded: false } };

class Parser {
  readonly #source: string;
  readonly #flags: string;
  readonly #positions: Position[];
  #at = 0;

  constructor(regex: RegExp, positions: Position[]) {
    this.#source = regex.source;
    this.#flags = regex.flags.replace(/[gyd]/g, '');
    this.#positions = positions;
  }

  whole(): Part {
    const part = this.#alternatives();
    if (this.#at < this.#source.length) throw new Error(`cannot read ${this.#source} from ${this.#at}`);
    return part;
  }

  #alternatives(): Part {
    let part = this.#sequence();
    while (this.#source[this.#at] === '|') {
      this.#at += 1;
      part = either(part, this.#sequence());
    }
    return part;
  }

  #sequence(): Part {
    let part = nothing;
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '')) {
      part = this.#join(part, this.#repeated());
    }
    return part;
  }

  #repeated(): Part {
    const from = this.#at;
    const once = this.#atom();
    const [text = '', low, comma, high] =
      /^(?:[*+?]|\{(\d+)(,)?(\d*)\})/.exec(this.#source.slice(this.#at)) ?? [];
    if (text === '') return once;
    this.#at += text.length;
    if (this.#source[this.#at] === '?') this.#at += 1;
    const end = this.#at;
    const least = text === '+' ? 1 : Number(low ?? 0);
    const most =
      text === '?'
        ? 1
        : low === undefined || (comma !== undefined && high === '')
          ? undefined
          : Number(high || low);
    // Each copy has characters of its own, so the atom is read again for each.
    const again = (): Part => {
      this.#at = from;
      const part = this.#atom();
      this.#at = end;
      return part;
    };
    let part = nothing;
    for (let count = 0; count < Math.min(least, copies); count++) {
      part = this.#join(part, count === 0 ? once : again());
    }
    if (most === undefined) {
      if (least === 1) return this.#loop(once);
      return this.#join(part, maybe(this.#loop(least === 0 ? once : again())));
    }
    let rest = nothing;
    for (let count = 0; count < Math.min(most - least, copies); count++) {
      const copy = least === 0 && count === 0 ? once : again();
      rest = maybe(this.#join(copy, rest));
    }
    return this.#join(part, rest);
  }

  #atom(): Part {
    const source = this.#source;
    const at = this.#at;
    const c = source[at] ?? '';
    if (c === '^' || c === '$') return this.#assertion(1);
    if (c === '\\' && 'bB'.includes(source[at + 1] ?? ' ')) return this.#assertion(2);
    if (c === '(') return this.#group();
    const text =
      c === '['
        ? (/^\[(?:[^\]\\]|\\.)*\]/s.exec(source.slice(at))?.[0] ?? '')
        : c === '\\'
          ? (/^\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]+\}|[pP]\{[^}]+\}|.)/is.exec(
              source.slice(at),
            )?.[0] ?? '')
          : String.fromCodePoint(source.codePointAt(at) ?? 0);
    if (/^\\[1-9k]/.test(text)) throw new Error(`${source} refers back to a group`);
    this.#at += text.length;
    const one = new RegExp(`^(?:${text})$`, this.#flags.replace('m', ''));
    const takes = new Set([...samples.keys()].filter((index) => one.test(samples[index] ?? '')));
    const index = this.#positions.push({ takes, next: new Map(), accepts: false }) - 1;
    const way = new Map([[index, { count: 1, guarded: false }]]);
    return { first: way, last: way, empty: undefined };
  }

  #assertion(length: number): Part {
    this.#at += length;
    return { ...nothing, empty: { count: 1, guarded: true } };
  }

  #group(): Part {
    const [open = '', kind = ''] = /^\((\?(?:<?[=!]|:|<\w+>))?/.exec(this.#source.slice(this.#at)) ?? [];
    this.#at += open.length;
    const part = this.#alternatives();
    this.#at += 1;
    if (!/^\?<?[=!]/.test(kind)) return part;
    // What it looks at costs time, too: a branch that leads nowhere.
    return { first: part.first, last: new Map(), empty: { count: 1, guarded: true } };
  }

  #join(a: Part, b: Part): Part {
    this.#link(a.last, b.first);
    return {
      first: a.empty === undefined ? a.first : merged(a.first, throughOf(b.first, a.empty)),
      last: b.empty === undefined ? b.last : merged(b.last, throughOf(a.last, b.empty)),
      empty: a.empty && b.empty ? product(a.empty, b.empty) : undefined,
    };
  }

  #loop(part: Part): Part {
    this.#link(part.last, part.first);
    return part;
  }

  #link(from: Part['last'], to: Part['first']): void {
    for (const [a, out] of from) {
      for (const [b, into] of to) {
        const next = this.#positions[a]?.next;
        next?.set(b, (next.get(b) ?? 0) + out.count * into.count);
      }
    }
  }
}

function either(a: Part, b: Part): Part {
  const empty =
    a.empty && b.empty
      ? { count: a.empty.count + b.empty.count, guarded: a.empty.guarded && b.empty.guarded }
      : (a.empty ?? b.empty);
  return { first: merged(a.first, b.first), last: merged(a.last, b.last), empty };
}

/** JavaScript takes no repetition that is empty, so being empty twice is one way. */
function maybe(part: Part): Part {
  return { ...part, empty: { count: 1, guarded: false } };
}

function merged(a: Part['first'], b: Part['first']): Map<number, Way> {
  const all = new Map(a);
  for (const [at, way] of b) {
    const other = all.get(at);
    all.set(
      at,
      other === undefined ? way : { count: other.count + way.count, guarded: other.guarded && way.guarded },
    );
  }
  return all;
}

function throughOf(ways: Part['first'], through: Way): Map<number, Way> {
  return new Map([...ways].map(([at, way]) => [at, product(way, through)]));
}

function product(a: Way, b: Way): Way {
  return { count: a.count * b.count, guarded: a.guarded || b.guarded };
}

function search(positions: readonly Position[], start: number): Growth | undefined {
  const at: At = (index) => positions[index] as Position;
  const next = (index: number): number[] =>
    [...at(index).next.keys()].filter((other) => !at(other).accepts && at(other).takes.size > 0);
  const reach = new Map<number, ReadonlySet<number>>();
  const from = (index: number): ReadonlySet<number> => {
    const known = reach.get(index);
    if (known !== undefined) return known;
    const seen = new Set<number>();
    const waiting = next(index);
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      if (seen.has(one)) continue;
      seen.add(one);
      waiting.push(...next(one));
    }
    reach.set(index, seen);
    return seen;
  };
  const alive = [start, ...from(start)].filter((index, place, all) => all.indexOf(index) === place);
  const loops = alive.filter((index) => from(index).has(index));
  const pathTo = (goal: number): string => (goal === start ? '' : textOf(walk(next, at, start, goal)));
  for (const p of loops) {
    const cycle = new Set([...from(p)].filter((index) => from(index).has(p)));
    for (const one of cycle) {
      for (const [other, count] of at(one).next) {
        if (count > 1 && cycle.has(other) && !at(other).accepts) {
          const pump = `${textOf(walk(next, at, p, other))}${textOf(walk(next, at, other, p))}`;
          return { kind: 'exponential', prefix: pathTo(p), pump };
        }
      }
    }
    const twice = parted(next, at, p, cycle);
    if (twice !== undefined) return { kind: 'exponential', prefix: pathTo(p), pump: twice };
  }
  for (const p of loops) {
    for (const q of loops) {
      if (p === q || !from(p).has(q)) continue;
      const pump = together(next, at, p, q, from);
      if (pump !== undefined) return { kind: 'polynomial', prefix: pathTo(p), pump };
    }
  }
  return undefined;
}

type Next = (index: number) => number[];
type At = (index: number) => Position;
type Step = readonly [state: readonly number[], takes: ReadonlySet<number>];

/** The characters of the shortest way of at least one step. */
function walk(next: Next, at: At, from: number, to: number): number[] | undefined {
  return breadthFirst(
    [from],
    ([first]) => first === to,
    ([first = 0]) => next(first).map((one) => [[one], at(one).takes] as const),
  );
}

/** A text by which p leads to p in two ways. */
function parted(next: Next, at: At, p: number, cycle: ReadonlySet<number>): string | undefined {
  const found = breadthFirst(
    [p, p, 0],
    ([a, b, apart]) => a === p && b === p && apart === 1,
    ([a = 0, b = 0, apart = 0]) =>
      pairs(next, at, [a, b], [cycle, cycle]).map(([[x = 0, y = 0], takes]) => [
        [x, y, apart === 1 || x !== y ? 1 : 0],
        takes,
      ]),
  );
  return found === undefined ? undefined : textOf(found);
}

/** A text by which p leads to p and to q, and q to q. */
function together(
  next: Next,
  at: At,
  p: number,
  q: number,
  from: (index: number) => ReadonlySet<number>,
): string | undefined {
  const back = (goal: number, begin: number) =>
    new Set([...from(begin)].filter((one) => one === goal || from(one).has(goal)));
  const inside = [back(p, p), back(q, p), back(q, q)];
  const found = breadthFirst(
    [p, p, q],
    ([a, b, c]) => a === p && b === q && c === q,
    (state) => pairs(next, at, state, inside),
  );
  return found === undefined ? undefined : textOf(found);
}

/** The steps that all of several walkers can take by one character. */
function pairs(next: Next, at: At, state: readonly number[], inside: readonly ReadonlySet<number>[]): Step[] {
  let steps: Step[] = [[[], new Set(samples.keys())]];
  for (const [place, one] of state.entries()) {
    steps = steps.flatMap(([so, takes]) =>
      next(one)
        .filter((other) => inside[place]?.has(other))
        .map((other) => [[...so, other], intersection(takes, at(other).takes)] as const)
        .filter(([, both]) => both.size > 0),
    );
  }
  return steps;
}

function intersection(a: ReadonlySet<number>, b: ReadonlySet<number>): ReadonlySet<number> {
  return new Set([...a].filter((one) => b.has(one)));
}

function breadthFirst(
  from: readonly number[],
  isGoal: (state: readonly number[]) => boolean,
  steps: (state: readonly number[]) => Step[],
): number[] | undefined {
  const seen = new Set<string>();
  let wave: { state: readonly number[]; text: readonly number[] }[] = [{ state: from, text: [] }];
  while (wave.length > 0) {
    const coming: typeof wave = [];
    for (const { state, text } of wave) {
      for (const [after, takes] of steps(state)) {
        const written = [...text, best(takes)];
        if (isGoal(after)) return written;
        const id = after.join();
        if (seen.has(id)) continue;
        seen.add(id);
        coming.push({ state: after, text: written });
      }
    }
    wave = coming;
  }
  return undefined;
}

/** A character that is easy to read, where there is one. */
function best(takes: ReadonlySet<number>): number {
  for (const index of takes) if (index > 0x20 && index < 0x7f) return index;
  return takes.has(0x20) ? 0x20 : (takes.values().next().value ?? 0);
}

function textOf(indexes: readonly number[] | undefined): string {
  return (indexes ?? []).map((index) => samples[index]).join('');
}
