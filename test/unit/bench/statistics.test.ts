import { expect, test } from 'vitest';
import { arrivalDelay, median, percentile } from '../../bench/statistics.ts';

test('percentiles of unsorted values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([median(values), percentile(values, 0.99), percentile(values, 1)]).toEqual([51, 100, 100]);
  expect(median([])).toBeNaN();
});

test.each([
  ['no stall', [], 1000, 0],
  ['one stall of 30 ms in 1 s: the last 10 ms of arrivals wait more than 20', [30], 1000, 20],
  ['many short ones stay what they are', Array.from({ length: 500 }, () => 2), 1000, 1.98],
  ['a stall too short to matter', [9], 1000, 0],
])('delay met by 1 %% of arrivals: %s', (_name, stalls, total, expected) => {
  expect(arrivalDelay(stalls, total, 0.99)).toBeCloseTo(expected, 5);
});
