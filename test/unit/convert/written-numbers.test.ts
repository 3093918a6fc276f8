import { describe, expect, it } from 'vitest';
import { isObject } from '../../../src/convert/json.ts';
import { parseAsWritten, WrittenNumber } from '../../../src/convert/written-numbers.ts';

const changed = [
  '9223372036854775807',
  '-1234567890123456789',
  '1e400',
  '1E5',
  '1e5',
  '-0',
  '1.0',
  '-1.50',
  '0.00000001',
  '0.1234567890123456789',
];
const kept = ['0', '12', '-12.5', '0.1', '1234567890', '1.05', '100'];

describe('numbers as they were written', () => {
  it.each(changed)('%s stays, wherever it is', (number) => {
    for (const text of [`{"a":${number}}`, `[${number}]`, `[1,${number},{"b":${number}}]`])
      expect(JSON.stringify(parseAsWritten(text))).toBe(text);
    expect(JSON.stringify(parseAsWritten(`{"a" :\n ${number}\n}`))).toBe(`{"a":${number}}`);
  });

  it.each(kept)('%s is a number', (number) => {
    expect(parseAsWritten(`{"a":[${number}]}`)).toEqual({ a: [Number(number)] });
  });

  it('is no matter of texts', () => {
    const value = { a: 'x: 1.0, y', b: ': 1e400,' };
    expect(parseAsWritten(JSON.stringify(value))).toEqual(value);
  });

  it('is no object to those who look for one', () => {
    expect(isObject(new WrittenNumber('1.0'))).toBe(false);
    expect(isObject({})).toBe(true);
  });

  it('throws what is no JSON', () => {
    expect(() => parseAsWritten('{"a":1.0')).toThrow(SyntaxError);
  });
});
