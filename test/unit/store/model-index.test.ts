import { describe, expect, test } from 'vitest';
import { ModelIndex } from '../../../src/store/model-index.ts';
import type { NodeEntry } from '../../../src/store/store.ts';
import { makeNode } from './make.ts';

function entry(name: string, manualModels: string[], spec: object = {}): NodeEntry {
  return {
    id: `default/${name}`,
    resource: makeNode({ manualModels, ...spec }, undefined, { name }),
    nativeFormats: new Set(),
    credentials: { state: 'Pending' },
    checkedAtMs: 0,
  };
}

function nodesOf(index: ModelIndex, name: string): string[] {
  return (index.served(name)?.candidates ?? []).map(({ node }) => node.id).sort();
}

describe('who serves a name', () => {
  test('one node, several, and one again', () => {
    const index = new ModelIndex();
    const [a, b, c] = [entry('a', ['m', 'x']), entry('b', ['m']), entry('c', ['m'])];
    index.replace(undefined, a);
    expect(nodesOf(index, 'm')).toEqual(['default/a']);
    index.replace(undefined, b);
    index.replace(undefined, c);
    expect(nodesOf(index, 'm')).toEqual(['default/a', 'default/b', 'default/c']);
    expect(nodesOf(index, 'x')).toEqual(['default/a']);
    index.replace(a, undefined);
    index.replace(b, undefined);
    expect(nodesOf(index, 'm')).toEqual(['default/c']);
    expect(index.served('x')).toBeUndefined();
    index.replace(c, undefined);
    expect([...index.names()]).toEqual([]);
  });

  test('names that a node lost are gone, new ones are there', () => {
    const index = new ModelIndex();
    const before = entry('a', ['m', 'old']);
    index.replace(undefined, before);
    index.replace(before, entry('a', ['m', 'new']));
    expect([...index.names()].sort()).toEqual(['m', 'new']);
  });

  test('equal names unite across nodes, real ones with aliases', () => {
    const index = new ModelIndex();
    index.replace(undefined, entry('a', ['m']));
    index.replace(undefined, entry('b', ['other'], { models: [{ name: 'other', aliases: ['m'] }] }));
    expect(
      index
        .served('m')
        ?.candidates.map(({ model }) => model)
        .sort(),
    ).toEqual(['m', 'other']);
  });

  test('a name of many nodes, from the first to the last and back', () => {
    const index = new ModelIndex();
    const entries = Array.from({ length: 40 }, (_, number) => entry(`n${number}`, ['m']));
    for (const [number, each] of entries.entries()) {
      index.replace(undefined, each);
      expect(index.served('m')?.candidates).toHaveLength(number + 1);
    }
    const changed = entry('n20', ['m'], { models: [{ name: 'm', enabled: false }] });
    index.replace(entries[20], changed);
    expect(index.served('m')?.candidates.filter(({ enabled }) => !enabled)).toEqual([
      { node: changed, model: 'm', enabled: false },
    ]);
    for (const [number, each] of entries.entries()) {
      index.replace(each, undefined);
      expect(nodesOf(index, 'm')).toHaveLength(39 - number);
    }
    expect(index.served('m')).toBeUndefined();
  });

  test('more names than answers are kept', () => {
    const index = new ModelIndex();
    for (let node = 0; node < 11; node += 1) {
      const names = Array.from({ length: 1_000 }, (_, number) => `n${node}-m${number}`);
      index.replace(undefined, entry(`n${node}`, names));
    }
    for (const name of index.names()) expect(index.served(name)?.candidates).toHaveLength(1);
    expect(nodesOf(index, 'n0-m0')).toEqual(['default/n0']);
  });

  test('disabled models stay known', () => {
    const index = new ModelIndex();
    index.replace(undefined, entry('a', ['m'], { models: [{ name: 'm', enabled: false }] }));
    expect(index.served('m')?.candidates).toMatchObject([{ enabled: false }]);
  });
});

describe('identity of an answer', () => {
  test('is kept while nothing in it changed, alone and shared', () => {
    const index = new ModelIndex();
    const a = entry('a', ['m', 'x']);
    const b = entry('b', ['m']);
    index.replace(undefined, a);
    const alone = index.served('x');
    index.replace(undefined, b);
    const shared = index.served('m');
    index.replace(undefined, entry('c', ['other']));
    expect(index.served('x')).toBe(alone);
    expect(index.served('m')).toBe(shared);
  });

  test('changes with a node of it', () => {
    const index = new ModelIndex();
    const a = entry('a', ['m', 'x']);
    const b = entry('b', ['m']);
    index.replace(undefined, a);
    index.replace(undefined, b);
    const [alone, shared] = [index.served('x'), index.served('m')];
    const changed = entry('a', ['m', 'x'], { weight: 1 });
    index.replace(a, changed);
    expect(index.served('x')).not.toBe(alone);
    expect(index.served('m')).not.toBe(shared);
    expect(index.served('x')?.candidates[0]?.node).toBe(changed);
    expect(alone?.candidates[0]?.node).toBe(a);
  });
});
