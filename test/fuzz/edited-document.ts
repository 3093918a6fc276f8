import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { applyEdits, valueAt } from '../../src/cli/edit/apply-edits.ts';
import type { Edit, Step } from '../../src/cli/edit/edit.ts';
import { documentValue, editYaml } from '../../src/cli/edit/edit-yaml.ts';

type Draw = { below(limit: number): number; one<T>(values: readonly T[]): T };

/** A member of a document, the lines that it takes (`to` excluded) and whether it is written within one line. */
interface Place {
  readonly path: readonly Step[];
  readonly from: number;
  to: number;
  readonly sort: 'scalar' | 'block' | 'map' | 'flow map' | 'list' | 'entry';
}

const words = [
  'a',
  'gpt-5',
  'x/y:z',
  '"quoted: #"',
  "'single'",
  '12',
  'true',
  'two words',
  '~',
  '"tab\\t"',
  'v1.2',
];
const keys = ['alpha', 'beta', 'gamma', 'delta', '"e-f"', 'models', 'headers', 'zeta'];
const comments = ['', '', '  # c', '\t# with a tab', ' # ä: "x" {', ' #'];

/** Writes a random document as people might, with a record of what stands where. */
function written(draw: Draw): { lines: string[]; places: Place[] } {
  const lines: string[] = [];
  const places: Place[] = [];
  const step = draw.one([2, 2, 4]);
  const dash = draw.one([0, 2]);

  function rubbish(column: number): void {
    for (let count = draw.below(3); count > 0; count -= 1) {
      lines.push(draw.one(['', `${' '.repeat(column)}# about this`, '# at the margin', '   ']));
    }
  }

  function put(path: readonly Step[], sort: Place['sort'], text: string): Place {
    const place = { path, from: lines.length, to: lines.length + 1, sort };
    places.push(place);
    lines.push(text + draw.one(comments));
    return place;
  }

  function members(path: readonly Step[], column: number, depth: number, prefix = ''): void {
    const names = keys.filter(() => draw.below(2) === 0).slice(0, 5);
    if (names.length === 0) names.push('alpha');
    for (const [index, key] of names.entries()) {
      const head = index === 0 && prefix !== '' ? prefix : ' '.repeat(column);
      if (index > 0 || prefix === '') rubbish(column);
      const at = [...path, key.replaceAll('"', '')];
      member(at, key, head, column, depth);
    }
  }

  function member(at: readonly Step[], key: string, head: string, column: number, depth: number): void {
    const sort = draw.below(depth > 3 ? 4 : 7);
    if (key === 'models' || key === 'headers') {
      namedList(at, key, head, column, depth);
    } else if (sort <= 1) {
      put(at, 'scalar', `${head}${key}: ${' '.repeat(draw.below(3))}${draw.one(words)}`);
    } else if (sort === 2) {
      put(at, 'flow map', `${head}${key}: {p: 1, q: ${draw.one(['x', '"y, z"', '[1, 2]'])}}`);
    } else if (sort === 3) {
      put(at, 'list', `${head}${key}: [${draw.one(['a, b', ' one ', '', '"a", "b"'])}]`);
    } else if (sort === 4) {
      const place = put(at, 'block', `${head}${key}: ${draw.one(['|', '>-', '|-'])}`);
      for (const line of draw.one([['first # no'], ['a', '', '  deeper'], ['a', '', 'last']])) {
        lines.push(line === '' ? '' : ' '.repeat(column + step) + line);
      }
      place.to = lines.length;
    } else if (sort === 5) {
      const place = put(at, 'list', `${head}${key}:`);
      for (const word of ['one', 'two', '"three"', 'four'].slice(draw.below(3))) {
        rubbish(column);
        lines.push(`${' '.repeat(column + dash)}- ${word}${draw.one(comments)}`);
        place.to = lines.length;
      }
    } else {
      const place = put(at, 'map', `${head}${key}:`);
      members(at, column + step, depth + 1);
      place.to = lines.length;
    }
  }

  function namedList(at: readonly Step[], key: string, head: string, column: number, depth: number): void {
    const place = put(at, 'list', `${head}${key}:`);
    for (const name of ['m-1', 'm/2', 'm:3'].slice(draw.below(3))) {
      rubbish(column);
      const path = [...at, { name }];
      const entry: Place = { path, from: lines.length, to: 0, sort: 'entry' };
      places.push(entry);
      const dashed = `${' '.repeat(column + dash)}- `;
      if (draw.below(4) === 0) {
        lines.push(`${dashed}{name: "${name}", on: true}${draw.one(comments)}`);
      } else {
        lines.push(`${dashed}name: ${JSON.stringify(name)}${draw.one(comments)}`);
        if (draw.below(2) === 0)
          member([...path, 'on'], 'on', ' '.repeat(column + dash + 2), column + dash + 2, depth + 3);
      }
      entry.to = lines.length;
    }
    place.to = lines.length;
  }

  rubbish(0);
  members([], 0, 0);
  rubbish(0);
  return { lines, places };
}

function randomEdit(draw: Draw, places: readonly Place[]): { edit: Edit; place: Place; adds: boolean } {
  const place = draw.one(places);
  const value = draw.one<unknown>([
    true,
    7,
    'plain',
    'needs: quotes',
    'on',
    ['x', 'z'],
    { k: 'v', l: [1] },
    'two\nlines\n',
    null,
  ]);
  const choice = draw.below(4);
  if (choice === 0) return { edit: { path: place.path, remove: true }, place, adds: false };
  if (choice === 1 && (place.sort === 'map' || place.sort === 'entry' || place.sort === 'flow map')) {
    return { edit: { path: [...place.path, 'brand-new'], value }, place, adds: place.sort === 'map' };
  }
  if (place.sort === 'entry') return { edit: { path: [...place.path, 'on'], value }, place, adds: false };
  return { edit: { path: place.path, value }, place, adds: false };
}

/** What an edit makes of a random document: what it should say, and every line that is not about it byte for byte. */
export const editedDocument: fc.IProperty<[number[]]> = fc.property(
  // A choice for each; those that are left out, or shrunk, are the first that there is.
  fc.array(fc.nat({ max: 5039 }), { maxLength: 400, size: 'max' }),
  (choices) => {
    let next = 0;
    const below = (limit: number) => (choices[next++] ?? 0) % limit;
    const draw: Draw = { below, one: (values) => values[below(values.length)] as (typeof values)[number] };
    const { lines, places } = written(draw);
    const lineBreak = draw.one(['\n', '\n', '\r\n']);
    const text = lines.join(lineBreak) + draw.one([lineBreak, lineBreak, '']);
    const { edit, place, adds } = randomEdit(draw, places);
    const before = documentValue(text, 0) as Record<string, unknown>;
    const wanted = applyEdits(before, [edit]);
    fc.pre(Object.keys(wanted).length > 0);
    const after = editYaml(text, 0, wanted);
    const wrong = (what: string) => new Error(`${what}: ${JSON.stringify({ text, edit, after }, null, 1)}`);
    if (!isDeepStrictEqual(documentValue(after, 0), wanted)) throw wrong('it says something else');
    // A parent that is left empty goes with its last member.
    const gone = places.filter(
      ({ path }) =>
        place.path.length >= path.length && isNothing(valueAt(wanted, path)) && isPrefix(path, place.path),
    );
    const { from, to } = gone.reduce(
      (widest, each) => (each.path.length < widest.path.length ? each : widest),
      place,
    );
    const old = linesOf(text, lineBreak);
    const end = Math.max(0, old.length - to);
    const head = adds ? to : from;
    const keeps = (now: readonly string[]) =>
      isDeepStrictEqual(now.slice(0, head), old.slice(0, head)) &&
      isDeepStrictEqual(now.slice(now.length - end), old.slice(old.length - end));
    // A block scalar at the end of a file without a last line break needs one.
    const isEnded = text.endsWith(lineBreak) || !after.endsWith(lineBreak);
    const unended = isEnded ? after : after.slice(0, -lineBreak.length);
    if (![after, unended].some((each) => keeps(linesOf(each, lineBreak)))) throw wrong('other lines changed');
  },
);

/** Lines of blanks alone may have to lose them where a block of text would take them in. */
function linesOf(text: string, lineBreak: string): string[] {
  return text.split(lineBreak).map((line) => (line.trim() === '' ? '' : line));
}

function isNothing(value: unknown): boolean {
  return (
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}

function isPrefix(path: readonly Step[], whole: readonly Step[]): boolean {
  return path.every((step, at) => JSON.stringify(step) === JSON.stringify(whole[at]));
}
