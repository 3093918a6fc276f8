import { describe, expect, test } from 'vitest';
import { KeyIndex } from '../../../src/store/key-index.ts';
import { hashOf, makeKey, makeMasterKey } from './make.ts';

const at = (second: number) => `2027-01-01T00:00:${String(second).padStart(2, '0')}Z`;
const key = (name: string, second: number, more: object = {}, meta: object = {}) =>
  makeKey({ hash: hashOf(1), ...more }, { name, creationTimestamp: at(second), ...meta });

function ownerName(index: KeyIndex, hash = hashOf(1)): string | undefined {
  return index.owner(hash)?.resource.metadata.name;
}

describe('who owns a hash', () => {
  test.each([
    { name: 'the oldest', keys: [key('b', 2), key('a', 3), key('c', 1)], order: ['c', 'b', 'a'] },
    { name: 'of the same age the first name', keys: [key('b', 1), key('a', 1)], order: ['a', 'b'] },
    {
      name: 'of the same age the first namespace',
      keys: [key('a', 1, {}, { namespace: 'z' }), key('b', 1, {}, { namespace: 'y' })],
      order: ['b', 'a'],
    },
    {
      name: 'one without a creation time last',
      keys: [key('a', 1, {}, { creationTimestamp: undefined }), key('b', 9)],
      order: ['b', 'a'],
    },
    {
      name: 'a master key among API keys',
      keys: [key('a', 2), makeMasterKey({ hash: hashOf(1) }, { creationTimestamp: at(1) })],
      order: ['master', 'a'],
    },
    { name: 'a disabled one still', keys: [key('a', 1, { enabled: false }), key('b', 2)], order: ['a', 'b'] },
    {
      name: 'not one that is being deleted',
      keys: [key('a', 1, {}, { deletionTimestamp: at(5) }), key('b', 2)],
      order: ['b'],
    },
    { name: 'nobody', keys: [], order: [] },
  ])('$name', ({ keys, order }) => {
    for (const arranged of [keys, [...keys].reverse()]) {
      const index = new KeyIndex();
      for (const each of arranged) index.replace(undefined, each);
      expect(index.claims(hashOf(1)).map(({ metadata }) => metadata.name)).toEqual(order);
      expect(ownerName(index)).toBe(order[0]);
      for (const each of arranged) index.replace(each, undefined);
      expect(index.claims(hashOf(1))).toEqual([]);
      expect(index.owner(hashOf(1))).toBeUndefined();
    }
  });

  test('passes to the next when the owner goes, is deleted or names another hash', () => {
    const index = new KeyIndex();
    const [a, b, c] = [key('a', 1), key('b', 2), key('c', 3)];
    for (const each of [a, b, c]) index.replace(undefined, each);
    const deleted = key('a', 1, {}, { deletionTimestamp: at(9) });
    index.replace(a, deleted);
    expect(ownerName(index)).toBe('b');
    index.replace(b, key('b', 2, { hash: hashOf(2) }));
    expect(ownerName(index)).toBe('c');
    expect(ownerName(index, hashOf(2))).toBe('b');
    index.replace(c, undefined);
    expect(ownerName(index)).toBeUndefined();
  });
});

describe('what an entry says', () => {
  const generated = (hashes: object[], spec: object = {}) =>
    makeKey({ secretName: 's', ...spec }, {}, { hashes });

  test.each([
    { name: 'no expiry', resource: key('a', 1), expiresAtMs: Infinity },
    {
      name: 'the expiry of the spec',
      resource: key('a', 1, { expirationTime: at(9) }),
      expiresAtMs: Date.parse(at(9)),
    },
    {
      name: 'the end of an overlap',
      resource: generated([{ hash: hashOf(1), expirationTime: at(5) }]),
      expiresAtMs: Date.parse(at(5)),
    },
    {
      name: 'the earlier of both',
      resource: generated([{ hash: hashOf(1), expirationTime: at(5) }], { expirationTime: at(4) }),
      expiresAtMs: Date.parse(at(4)),
    },
    {
      name: 'the earlier of both',
      resource: generated([{ hash: hashOf(1), expirationTime: at(5) }], { expirationTime: at(6) }),
      expiresAtMs: Date.parse(at(5)),
    },
    {
      name: 'an offset',
      resource: key('a', 1, { expirationTime: '2027-01-01T01:00:00+01:00' }),
      expiresAtMs: Date.parse(at(0)),
    },
  ])('$name', ({ resource, expiresAtMs }) => {
    const index = new KeyIndex();
    index.replace(undefined, resource);
    expect(index.owner(hashOf(1))?.expiresAtMs).toBe(expiresAtMs);
  });

  test('both keys of a rotation lead to the resource', () => {
    const index = new KeyIndex();
    index.replace(undefined, generated([{ hash: hashOf(2) }, { hash: hashOf(1), expirationTime: at(5) }]));
    expect(index.owner(hashOf(2))?.expiresAtMs).toBe(Infinity);
    expect(index.owner(hashOf(1))?.expiresAtMs).toBe(Date.parse(at(5)));
  });

  test('a hash that left the status opens nothing', () => {
    const index = new KeyIndex();
    const before = generated([{ hash: hashOf(1) }]);
    index.replace(undefined, before);
    index.replace(before, generated([{ hash: hashOf(2) }]));
    expect(index.owner(hashOf(1))).toBeUndefined();
    expect(index.owner(hashOf(2))).toBeDefined();
  });

  test('allowlist and namespaces', () => {
    const index = new KeyIndex();
    index.replace(undefined, key('a', 1, { models: ['m'], nodeNamespaces: ['n'] }));
    index.replace(undefined, makeKey({ hash: hashOf(2) }, { name: 'b' }));
    expect(index.owner(hashOf(1))).toMatchObject({ models: new Set(['m']) });
    expect(index.owner(hashOf(2))).toMatchObject({ models: undefined });
  });

  test('keeps its identity until the resource changes', () => {
    const index = new KeyIndex();
    const before = key('a', 1);
    index.replace(undefined, before);
    const entry = index.owner(hashOf(1));
    expect(index.owner(hashOf(1))).toBe(entry);
    index.replace(before, key('a', 1, { enabled: false }));
    expect(index.owner(hashOf(1))).not.toBe(entry);
    expect(index.owner(hashOf(1))?.resource.spec.enabled).toBe(false);
  });
});
