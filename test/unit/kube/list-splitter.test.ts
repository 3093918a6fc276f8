import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/kube/api-error.ts';
import { ListSplitter } from '../../../src/kube/list-splitter.ts';

/** Feeds a text in pieces of so many bytes, in turn. */
function split(text: string, sizes: readonly number[] = [text.length * 4]) {
  const splitter = new ListSplitter();
  const bytes = Buffer.from(text);
  const objects: string[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number;
    objects.push(...splitter.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return { objects, frame: splitter.frame };
}

describe('the objects of a list, and what lies around them', () => {
  test.each([
    [
      'of custom resources',
      '{"apiVersion":"a/v1","items":[{"a":1},{"b":[{}]}],"kind":"AList","metadata":{"resourceVersion":"7"}}',
    ],
    [
      'of a built-in kind',
      '{"kind":"AList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":[{}]}]}\n',
    ],
    [
      'for people',
      JSON.stringify({ items: [{ a: 1 }, { b: [{}] }], metadata: { resourceVersion: '7' } }, null, 2),
    ],
  ])('%s', (_, text) => {
    const { objects, frame } = split(text, [1]);
    expect(objects.map((object) => JSON.parse(object))).toEqual([{ a: 1 }, { b: [{}] }]);
    expect(JSON.parse(frame)).toMatchObject({ items: [], metadata: { resourceVersion: '7' } });
  });

  test.each(['[]', 'null'])('of none: %s', (items) => {
    const { objects, frame } = split(`{"items":${items},"metadata":{"resourceVersion":"7"}}`, [3]);
    expect(objects).toEqual([]);
    expect(JSON.parse(frame).metadata.resourceVersion).toBe('7');
  });

  test('whatever is in them, and wherever the bytes are cut', () => {
    const nasty = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      '\\"',
      ',"items":[',
      '€',
      '\u2028',
      '💡',
      'a',
    );
    const text = fc.array(nasty, { maxLength: 6 }).map((parts) => parts.join(''));
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(text, tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(text, value, { maxKeys: 4 }), { maxLength: 5 }),
        sizes,
        (items, cuts) => {
          const metadata = { resourceVersion: '7' };
          const { objects, frame } = split(
            JSON.stringify({ apiVersion: 'v1', items, kind: 'L', metadata }),
            cuts,
          );
          expect(objects).toEqual(items.map((item) => JSON.stringify(item)));
          expect(JSON.parse(frame)).toEqual({ apiVersion: 'v1', items: [], kind: 'L', metadata });
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('what is refused', () => {
  test.each(['{"items":[7]}', '{"items":["a"]}', '{"items":[[{}]]}', '{"items":[{},null]}'])('%s', (text) => {
    expect(() => split(text)).toThrow(expect.objectContaining({ reason: 'InvalidResponse' }));
  });

  test('an object without end', () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const splitter = new ListSplitter();
    splitter.push(Buffer.from('{"items":[{"a":"'));
    const fill = () => {
      for (let n = 0; n < 17; n += 1) splitter.push(piece);
    };
    expect(fill).toThrow(expect.objectContaining({ reason: 'ResponseTooLarge' }));
    expect(fill).toThrow(ApiError);
  });

  test('a page of something else', () => {
    expect(() => split('<p>'.repeat(30_000))).toThrow(
      expect.objectContaining({ reason: 'ResponseTooLarge' }),
    );
  });
});
