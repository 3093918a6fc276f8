import { expect, test } from 'vitest';
import { pickLeastLoaded } from '../../../src/routing/pick-by-weight.ts';
import { tiersOf } from '../../../src/routing/tiers.ts';
import type { Candidate } from '../../../src/store/store.ts';
import { makeNode } from '../store/make.ts';

function candidate(name: string, weight = 50): Candidate {
  const resource = makeNode({ weight }, undefined, { name, namespace: 'home' });
  const credentials = { state: 'Pending' } as const;
  return {
    node: { id: name, resource, nativeFormats: new Set(), credentials, checkedAtMs: 0 },
    model: 'm',
    enabled: true,
  };
}

function random(): () => number {
  let state = 7;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Sends requests that never end, and returns how many each node has. */
function spread(candidates: readonly Candidate[], requests: number, eligible = (_: Candidate) => true) {
  const [tier] = tiersOf(candidates, 'chat');
  const loads = new Map<string, number>();
  const draw = random();
  for (let at = 0; at < requests; at++) {
    const picked =
      tier &&
      pickLeastLoaded(tier, eligible, draw, {
        underWay: (id) => loads.get(id) ?? 0,
        mean: () => 0,
        isFull: () => false,
      });
    if (picked !== undefined) loads.set(picked.node.id, (loads.get(picked.node.id) ?? 0) + 1);
  }
  return Object.fromEntries(loads);
}

test('requests under way stay level, and in proportion to the weights', () => {
  const alike = spread(
    ['a', 'b', 'c', 'd'].map((name) => candidate(name)),
    4_000,
  );
  for (const count of Object.values(alike)) expect(Math.abs(count - 1_000)).toBeLessThan(10);
  const { a = 0, b = 0 } = spread([candidate('a', 25), candidate('b', 75)], 400);
  expect([a, b]).toEqual([100, 300]);
});

test('only eligible nodes are picked, also if one is left or none', () => {
  const nodes = ['a', 'b', 'c'].map((name) => candidate(name));
  expect(spread(nodes, 50, ({ node }) => node.id === 'b')).toEqual({ b: 50 });
  expect(spread(nodes, 50, () => false)).toEqual({});
  expect(spread([candidate('a')], 50)).toEqual({ a: 50 });
});
