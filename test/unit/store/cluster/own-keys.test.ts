import { expect, test } from 'vitest';
import { OwnKeys } from '../../../../src/store/cluster/own-keys.ts';
import { hashOf, makeKey } from '../make.ts';

const key = (name: string, resourceVersion: string, namespace = 'default') =>
  makeKey({ hash: hashOf(1) }, { name, namespace, uid: `uid-${name}`, resourceVersion });

test.each([
  ['an older list', '9', ['a', 'b']],
  ['a list of the same version', '10', ['b']],
  ['a list of more digits', '100', []],
  ['a list of no number', 'abc', []],
])('%s', (_, version, names) => {
  const own = new OwnKeys(() => 0);
  own.noteMade(key('a', '10'));
  own.noteMade(key('b', '12', 'team'));
  expect([...own.newerThan(version, undefined)].map(({ metadata }) => metadata.name)).toEqual(names);
  expect([...own.newerThan(version, 'team')].map(({ metadata }) => metadata.name)).toEqual(
    names.filter((name) => name === 'b'),
  );
});

test('what was deleted is not new, and both are forgotten after a minute', () => {
  let now = 0;
  const own = new OwnKeys(() => now);
  own.noteMade(key('a', '10'));
  own.noteMade(key('b', '10'));
  own.noteDeleted('uid-b');
  expect([...own.newerThan('1', undefined)].map(({ metadata }) => metadata.name)).toEqual(['a']);
  expect([own.isDeleted('uid-b'), own.isDeleted('uid-a'), own.isDeleted(undefined)]).toEqual([
    true,
    false,
    false,
  ]);
  now = 60_001;
  expect([...own.newerThan('1', undefined)]).toEqual([]);
  expect(own.isDeleted('uid-b')).toBe(false);
});
