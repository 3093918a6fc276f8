import { expect, test } from 'vitest';
import { labelSelector } from '../../../src/cli/selector.ts';

const labels = { team: 'a', 'example.com/tier': 'gold', empty: '' };
const cases: [selector: string, isMeant: boolean][] = [
  ['team=a', true],
  ['team==a', true],
  ['team = b', false],
  ['team!=b', true],
  ['team!=a', false],
  ['stage!=x', true],
  ['empty=', true],
  ['stage=', false],
  ['example.com/tier=gold,team=a', true],
  ['example.com/tier=gold,team=b', false],
  ['team in (a, b)', true],
  ['team in (b,c)', false],
  ['stage in (a)', false],
  ['team notin (b,c),team', true],
  ['team notin (a)', false],
  ['stage notin (a)', true],
  ['stage', false],
  ['!stage', true],
  ['!team', false],
  ['toString', false],
];
test.each(cases)('%s', (selector, isMeant) => {
  expect(labelSelector(selector)(labels)).toBe(isMeant);
});

test('an object without labels', () => {
  expect(labelSelector('team')(undefined)).toBe(false);
  expect(labelSelector('!team')(undefined)).toBe(true);
});

test.each(['', '=a', 'team=a b', 'team in a', 'team in (a', 'team>1', 'team=a,', '-a', 'a/b/c'])(
  '%j is none',
  (text) => {
    expect(() => labelSelector(text)).toThrow('Give labels as kubectl takes them');
  },
);
