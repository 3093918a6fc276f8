import { expect, test } from 'vitest';
import { UpstreamHeaders } from '../../../src/upstream/headers.ts';
import { retryAfterSeconds } from '../../../src/upstream/retry-after.ts';

const now = Date.parse('2027-01-31T00:00:00Z');

test.each([
  ['0', 0],
  ['7', 7],
  [' 7 ', 7],
  ['1.5', 1.5],
  ['99999999999', 86_400],
  ['Sun, 31 Jan 2027 00:00:30 GMT', 30],
  ['Sunday, 31-Jan-27 00:00:30 GMT', 30],
  ['Sat, 30 Jan 2027 00:00:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400],
  ['-1', undefined],
  ['soon', undefined],
  ['5 apples', undefined],
  ['1e3', undefined],
  ['9'.repeat(400), undefined],
  ['', undefined],
  [undefined, undefined],
])('%j is %s', (value, expected) => {
  expect(retryAfterSeconds(new UpstreamHeaders(value === undefined ? [] : ['retry-after', value]), now)).toBe(
    expected,
  );
});

test.each([
  ['250', undefined, 0.25],
  ['0', '7', 0],
  ['1500', '7', 1.5],
  ['', '7', 7],
  ['-1', '7', 7],
  ['soon', undefined, undefined],
  ['99999999999', undefined, 86_400],
])('retry-after-ms %j beside retry-after %j is %s', (ms, seconds, expected) => {
  const after = seconds === undefined ? [] : ['retry-after', seconds];
  const headers = new UpstreamHeaders(['retry-after-ms', ms, ...after]);
  expect(retryAfterSeconds(headers, now)).toBe(expected);
});
