import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keepUnchanged } from '../../../src/store/keep-unchanged.ts';

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const models = Array.from({ length: 3 }, (_, index) => ({ name: `m${index}`, enabled: true }));
const node = {
  metadata: { name: 'a', resourceVersion: '1', labels: { team: 'x' } },
  spec: { baseURL: 'https://a.example', models: [{ name: 'm0', aliases: ['best'] }] },
  status: { models, phase: 'ready', lastHealthCheckTime: '2026-11-21T00:00:00Z' },
};

test('a new time in a status keeps everything but the way to it', () => {
  const newer = copy(node);
  newer.metadata.resourceVersion = '2';
  newer.status.lastHealthCheckTime = '2026-11-21T00:05:00Z';
  const wanted = copy(newer);
  const taken = keepUnchanged(node, newer);
  expect(taken).toEqual(wanted);
  expect(taken.spec).toBe(node.spec);
  expect(taken.status.models).toBe(node.status.models);
  expect(taken.metadata.labels).toBe(node.metadata.labels);
  expect(taken.status).not.toBe(node.status);
});

test('one model more keeps the others, one less and one changed too', () => {
  const more = copy(node);
  more.status.models.push({ name: 'm3', enabled: false });
  const grown = keepUnchanged(node, more);
  expect(grown.status.models).not.toBe(models);
  expect(grown.status.models.slice(0, 3).every((model, index) => model === models[index])).toBe(true);
  const less = copy(node);
  less.status.models.pop();
  expect(keepUnchanged(node, less).status.models).toEqual(models.slice(0, 2));
  expect(keepUnchanged(node, copy(node))).toBe(node);
});

test('for any two documents the newer one is said, the older one left as it was, and equal ones are the older one', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (one, other, isEqual) => {
      const [before, after] = [copy(one), copy(isEqual ? one : other)];
      const [was, wanted] = [copy(before), copy(after)];
      const taken = keepUnchanged({ of: before }, { of: after });
      // Vitest's own comparison takes `__proto__` for a prototype.
      expect(isDeepStrictEqual(taken.of, wanted)).toBe(true);
      expect(isDeepStrictEqual(before, was)).toBe(true);
      if (isDeepStrictEqual(was, wanted)) expect(taken.of).toBe(before);
    }),
    { numRuns: 2_000 },
  );
});

test('names that mean something to JavaScript are names', () => {
  const before = JSON.parse('{"a":{"__proto__":{"x":1},"constructor":"c"}}');
  const text = '{"a":{"__proto__":{"x":1},"constructor":"d","toString":"e"}}';
  const taken = keepUnchanged(before, JSON.parse(text));
  expect(JSON.stringify(taken)).toBe(text);
  expect(Object.getPrototypeOf(taken.a)).toBe(Object.prototype);
  expect(keepUnchanged({}, JSON.parse('{"toString":"e"}'))).toEqual({ toString: 'e' });
});
