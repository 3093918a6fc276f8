import { expensiveValues, hostileMembers, hostileValues, repeatedValues } from './hostile-values.ts';

/** JSON texts made from sound documents by confusing the types of their members. */
export interface ConfusedDocuments {
  /** Every member of every document with every hostile value. */
  readonly size: number;
  /** The text of one of them; `index` below `size`. */
  at(index: number): string;
  /** The same with an expensive value; any `index`. */
  expensiveAt(index: number): string;
  /** Two to four places confused at once; `random` gives numbers in [0, 1). */
  several(random: () => number): string;
}

interface Place {
  /** What stands before and behind the value in the text of its document. */
  readonly before: string;
  readonly after: string;
  readonly value: string;
  /** The name as JSON, where it is a member of an object. */
  readonly name: string | undefined;
  readonly isObject: boolean;
}

const wrapped = 3;
const perPlace = hostileValues.length + wrapped + 2 * repeatedValues.length + 1;

export function confusedDocuments(documents: readonly unknown[]): ConfusedDocuments {
  const places = documents.flatMap((document) => placesIn(JSON.stringify(document), document, '', ''));
  const placeOf = (number: number): Place => {
    const place = places[number % places.length];
    if (place === undefined) throw new Error('no documents were given');
    return place;
  };
  return {
    size: places.length * perPlace,
    // Neighbours differ in their place, so that a short run meets each.
    at: (index) => confused(placeOf(index), Math.floor(index / places.length)),
    expensiveAt(index) {
      const { before, after } = placeOf(index);
      return before + expensiveValues[Math.floor(index / places.length) % expensiveValues.length] + after;
    },
    several(random) {
      const pick = (count: number) => Math.floor(random() * count);
      let document: unknown = documents[pick(documents.length)];
      let text = '';
      for (let left = 2 + pick(3); left > 0; left--) {
        const inside = placesIn(JSON.stringify(document), document, '', '');
        const place = inside[pick(inside.length)];
        if (place === undefined) break;
        text = confused(place, pick(perPlace));
        document = JSON.parse(text);
      }
      return text;
    },
  };
}

function confused({ before, after, value, name, isObject }: Place, how: number): string {
  const hostile = hostileValues[how];
  if (hostile !== undefined) return before + hostile + after;
  let rest = how - hostileValues.length;
  if (rest === 0) return `${before}[${value}]${after}`;
  if (rest === 1) return `${before}{"0":${value},"length":1}${after}`;
  if (rest === 2) return `${before}${JSON.stringify(value)}${after}`;
  rest -= wrapped;
  if (rest === 2 * repeatedValues.length) {
    if (!isObject) return `${before}{${hostileMembers}}${after}`;
    return `${before}{${hostileMembers}${value === '{}' ? '' : ','}${value.slice(1)}${after}`;
  }
  const repeated = repeatedValues[rest >> 1] ?? 'null';
  if (before === '') return `[${repeated},${value}]`;
  if (name === undefined) return `${before}${repeated},${value}${after}`;
  return rest % 2 === 0
    ? `${before}${repeated},${name}:${value}${after}`
    : `${before}${value},${name}:${repeated}${after}`;
}

function placesIn(text: string, value: unknown, before: string, after: string, name?: string): Place[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const here: Place = { before, after, value: text, name, isObject };
  if (typeof value !== 'object' || value === null) return [here];
  const found = [here];
  const parts = Object.entries(value).map(([key, inner]) => {
    const quoted = Array.isArray(value) ? undefined : JSON.stringify(key);
    return { quoted, inner, text: JSON.stringify(inner) };
  });
  const written = parts.map(({ quoted, text: inner }) =>
    quoted === undefined ? inner : `${quoted}:${inner}`,
  );
  for (const [index, { quoted, inner, text: innerText }] of parts.entries()) {
    const left = written.slice(0, index).map((part) => `${part},`);
    const right = written.slice(index + 1).map((part) => `,${part}`);
    const head = `${before}${Array.isArray(value) ? '[' : '{'}${left.join('')}`;
    const tail = `${right.join('')}${Array.isArray(value) ? ']' : '}'}${after}`;
    found.push(
      ...placesIn(innerText, inner, quoted === undefined ? head : `${head}${quoted}:`, tail, quoted),
    );
  }
  return found;
}
