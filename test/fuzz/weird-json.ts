import fc from 'fast-check';

/** JSON text where a value would stand: anything, also what no writer of JSON would write. */
const weirdValue: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1', '""', '[]', '{}', '[null]', '[[]]', '[{}]'),
  fc.constantFrom('1e999', '-1e999', '1e-999', '9007199254740993', '1'.repeat(400), '0.1e+1', '-1', '1.5'),
  fc.constantFrom('"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\u2028"', '"__proto__"', '"\\r\\nx: y"'),
  fc.constantFrom('{"__proto__":{"stream":true}}', '{"constructor":{"prototype":{"model":"x"}}}'),
  fc.constantFrom(
    '{"toString":1,"valueOf":2,"hasOwnProperty":3,"length":-1}',
    '{"type":"text"}',
    '[1,"a",{}]',
  ),
  fc.constantFrom('{"type":null}', '{"type":"__proto__"}', '[{"type":"toString"}]', '{"role":"constructor"}'),
  fc
    .constantFrom('data:image/png;base64,AAAA', 'https://[::1', 'javascript:1')
    .map((text) => JSON.stringify(text)),
  fc.integer({ min: 1, max: 600 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.integer({ min: 1, max: 600 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.integer({ min: 1, max: 20_000 }).map((length) => `"${'a'.repeat(length)}"`),
  fc.integer({ min: 1, max: 3_000 }).map((count) => `[${'{},'.repeat(count)}{}]`),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
);

/** What is no JSON at all. */
const brokenValue = fc.constantFrom(
  '',
  'NaN',
  'undefined',
  '01',
  '+1',
  '.5',
  '1.',
  "'x'",
  '"\\x"',
  '"\n"',
  '{,}',
  '[1,]',
);

type Path = readonly (string | number)[];

function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...at, key]))];
}

/** Writes JSON with another text at one place. */
function writeWith(value: unknown, place: Path, text: string, twice: boolean): string {
  const [first, ...rest] = place;
  if (first === undefined) return text;
  if (Array.isArray(value)) {
    const items = value.map((item, index) =>
      String(index) === String(first) ? writeWith(item, rest, text, twice) : JSON.stringify(item),
    );
    return `[${items.join(',')}]`;
  }
  const members = Object.entries(value as object).flatMap(([key, inner]) => {
    const plain = `${JSON.stringify(key)}:${JSON.stringify(inner)}`;
    if (key !== first) return [plain];
    const changed = `${JSON.stringify(key)}:${writeWith(inner, rest, text, twice)}`;
    return twice && rest.length === 0 ? [plain, changed] : [changed];
  });
  return `{${members.join(',')}}`;
}

/** One of the values with a weird, broken, repeated or added member somewhere, as JSON text or nearly so. */
export function almost(values: readonly object[]): fc.Arbitrary<string> {
  const place = fc.constantFrom(...values).chain((value) => {
    const paths = pathsIn(value);
    return fc.record({ value: fc.constant(value), path: fc.constantFrom(...paths) });
  });
  const changed = fc
    .record({
      place,
      text: fc.oneof({ weight: 8, arbitrary: weirdValue }, { weight: 1, arbitrary: brokenValue }),
      twice: fc.integer({ min: 0, max: 5 }).map((draw) => draw === 0),
    })
    .map(({ place: { value, path }, text, twice }) => writeWith(value, path, text, twice));
  const added = fc
    .record({
      value: fc.constantFrom(...values),
      key: fc.constantFrom(
        '__proto__',
        'constructor',
        'Model',
        'models',
        'stream',
        'n',
        'store',
        'x',
        'prototype',
      ),
      text: weirdValue,
    })
    .map(({ value, key, text }) => `{${JSON.stringify(key)}:${text},${JSON.stringify(value).slice(1)}`);
  return fc.oneof({ weight: 5, arbitrary: changed }, { weight: 1, arbitrary: added });
}

/** The bytes with some of them cut off, inserted, or changed. */
export function mangled(texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc
    .record({
      text: texts,
      how: fc.constantFrom('cut', 'insert', 'change', 'repeat'),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
    })
    .map(({ text, how, at, bytes }) => {
      const whole = Buffer.from(text);
      const place = Math.floor(at * whole.length);
      const [before, after] = [whole.subarray(0, place), whole.subarray(place)];
      if (how === 'cut') return before;
      if (how === 'insert') return Buffer.concat([before, bytes, after]);
      if (how === 'repeat') return Buffer.concat([before, after.subarray(0, 50), after]);
      return Buffer.concat([before, bytes, after.subarray(bytes.length)]);
    });
}
