/**
 * JSON texts that are no value of the type that a reader expects, or that a reader which asks for no type runs into:
 * `String`, `Number`, templates, comparisons, `await`, `JSON.stringify` and look-ups in plain objects ask a value for
 * members that JSON can give it.
 */
export const hostileValues: readonly string[] = [
  ...['{"toString":1}', '{"valueOf":{},"toString":null}', '[{"toString":1}]', '{"constructor":1}'],
  ...['{"constructor":{"name":"x","prototype":{}}}', '{"__proto__":{"type":"text"}}', '{"__proto__":null}'],
  ...[
    '{"length":-1}',
    '{"length":{"toString":1},"size":{"valueOf":{}}}',
    '{"length":4294967296,"0":"a"}',
    '{"then":1}',
    '{"then":{"then":1}}',
  ],
  ...['{"toJSON":1}', '{"toJSON":{"toJSON":null}}', '{"hasOwnProperty":1,"isPrototypeOf":2}'],
  ...['"constructor"', '"toString"', '"__proto__"', '"hasOwnProperty"', '"then"', '"length"'],
  ...['9007199254740993', '-9007199254740993', '1e400', '-1e400', '1e308', '5e-324', '-0', '-1', '1.5', '0'],
  ...['"\\ud800"', '"\\udfff\\ud800x"', '"\\u0000"', '""', '" "', '"1e400"', '"NaN"', '"-1"'],
  ...['null', 'true', 'false', '[]', '{}', '[[]]', '[null]', '[1,"a",{}]', '{"a":{}}', '{"":""}', '{"0":{}}'],
];

/** The few that stand before or behind the sound member when it is repeated. */
export const repeatedValues: readonly string[] = ['null', '{"toString":1}', '[]', '"x"', '1e400'];

const depth = 100_000;

/** What costs thousands of times as much as the others: one case in `expensiveEvery`. */
export const expensiveValues: readonly string[] = [
  `"${'a'.repeat(1024 * 1024)}"`,
  '['.repeat(depth) + ']'.repeat(depth),
  `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
];

/** Members that every object may have on top of its own. */
export const hostileMembers =
  '"toString":1,"valueOf":1,"toJSON":1,"then":1,"length":-1,"constructor":null,"hasOwnProperty":1,"__proto__":{"type":1}';
