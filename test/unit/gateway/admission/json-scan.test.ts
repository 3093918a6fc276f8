import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScanError, scanObject } from '../../../../src/gateway/admission/json-scan.ts';

function scan(text: string, maxDepth = 1000): string[] {
  const bytes = Buffer.from(text);
  const members: string[] = [];
  scanObject(bytes, maxDepth, (keyStart, keyEnd, valueStart, valueEnd) => {
    members.push(
      `${bytes.toString('utf8', keyStart, keyEnd)}=${bytes.toString('utf8', valueStart, valueEnd)}`,
    );
  });
  return members;
}

/** Whether JSON.parse takes the text for an object. */
function parses(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function scans(text: string): boolean {
  try {
    scan(text);
    return true;
  } catch (error) {
    if (error instanceof JsonScanError) return false;
    throw error;
  }
}

test('tells each top-level member with its bytes, repeated ones and escapes as written', () => {
  expect(scan(' {"a" : 1 , "b":{"a":[2,{"a":3}]},"a":"x\\"}" , "\\u0061":[ ],"é":{} }\n')).toEqual([
    'a=1',
    'b={"a":[2,{"a":3}]}',
    'a="x\\"}"',
    '\\u0061=[ ]',
    'é={}',
  ]);
  expect(scan('{}')).toEqual([]);
});

describe('accepts what JSON.parse accepts, and nothing else', () => {
  const texts = [
    '',
    ' ',
    '{',
    '}',
    '[]',
    '1',
    '"a"',
    'null',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{"a":1 "b":2}',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":[1,]}',
    '{"a":[,1]}',
    '{"a":[1}',
    '{"a":{]}',
    '{a:1}',
    "{'a':1}",
    '{"a":01}',
    '{"a":-}',
    '{"a":-0}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":1e}',
    '{"a":1e+}',
    '{"a":1E-5}',
    '{"a":1.5e10}',
    '{"a":+1}',
    '{"a":0x1}',
    '{"a":NaN}',
    '{"a":tru}',
    '{"a":true}',
    '{"a":falsee}',
    '{"a":nul',
    '{"a":"\n"}',
    '{"a":"\t"}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '{"a":"\\u12G4"}',
    '{"a":"\\uD800"}',
    '{"a":"\\',
    '{"a":"\\u',
    '{"a":"b',
    '{"a',
    '{"a":1//c\n}',
    '\ufeff{}',
    '{"a":"\u2028"}',
    '{"a":1\u00a0}',
    '{"a":\f1}',
    '{"":{}}',
    '{"a":-',
    '{"a":1',
    '{"a":[',
    '{"a":{"b":',
    '{"a":1e5',
  ];
  test.each(texts)('%j', (text) => expect(scans(text)).toBe(parses(text)));

  test('for any object, written loosely', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.constantFrom(0, 1, '\t'),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          expect(scan(text)).toHaveLength(Object.keys(JSON.parse(text) as object).length);
        },
      ),
      { numRuns: 300, seed: 7 },
    );
  });

  test('for any object with one character put in, taken out or changed', () => {
    const noise = fc.constantFrom(...'{}[]",:\\ \n\t0123456789-+.eEtfnu/ax\u0000\u001f');
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.nat(),
        fc.nat(2),
        noise,
        (value, place, how, character) => {
          const text = JSON.stringify(value);
          const at = place % (text.length + 1);
          const broken =
            text.slice(0, at) + (how === 2 ? '' : character) + text.slice(how === 0 ? at : at + 1);
          expect([broken, scans(broken)]).toEqual([broken, parses(broken)]);
        },
      ),
      { numRuns: 3000, seed: 7 },
    );
  });
});

test('a long string is looked at byte by byte where it matters', () => {
  for (let at = 0; at < 40; at++) {
    const around = (character: string) => `{"a":"${'x'.repeat(at)}${character}${'é'.repeat(20)}"}`;
    for (const character of [
      '\n',
      '\u001f',
      '"',
      '\\',
      '\\"',
      '\\n',
      '\u0080',
      '\u007f',
      '!',
      '[',
      ']',
      '#',
    ]) {
      expect([at, character, scans(around(character))]).toEqual([at, character, parses(around(character))]);
    }
  }
});

test('depth is bounded', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
  expect(() => scan(nested(10), 10)).not.toThrow();
  expect(() => scan(nested(11), 10)).toThrow('nested more than 10 levels');
  expect(() => scan(`{"a":${'['.repeat(1_000_000)}`, 512)).toThrow(JsonScanError);
});
