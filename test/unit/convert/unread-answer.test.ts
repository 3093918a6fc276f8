import { expect, test } from 'vitest';
import { isObject } from '../../../src/convert/json.ts';
import { noteUnreadBody } from '../../../src/convert/unread-answer.ts';

const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

test.each([
  ['nothing', {}, false],
  ['what is empty', { x: { a: {}, b: [], c: '' } }, false],
  ['a value in an object', { x: { a: { b: 1 } } }, true],
  // A node's answer of 600 kB exhausted the stack.
  ['100,000 objects in each other', { x: nested(100_000) }, true],
])('an unread member with %s', (_, body, isNoted) => {
  const unread = new Set<string>();
  if (isObject(body)) noteUnreadBody(body, unread);
  expect(unread.size > 0).toBe(isNoted);
});
