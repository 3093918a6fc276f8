import { expect, test } from 'vitest';
import { pickForSession } from '../../../src/routing/pick-for-session.ts';
import { sessionHash, sessionOrder } from '../../../src/routing/session-hash.ts';
import { tiersOf } from '../../../src/routing/tiers.ts';
import { resolveCredentials } from '../../../src/store/credentials.ts';
import type { Candidate } from '../../../src/store/store.ts';
import { makeNode } from '../store/make.ts';

function candidate(name: string, weight = 50): Candidate {
  const resource = makeNode({ weight, manualModels: ['m'] }, undefined, { name, namespace: 'home' });
  return {
    node: {
      id: `home/${name}`,
      resource,
      nativeFormats: new Set(),
      credentials: resolveCredentials(resource, () => undefined, undefined, undefined),
      checkedAtMs: 0,
    },
    model: 'm',
    enabled: true,
  };
}

const all = () => true;
const idle = () => 0;
const sessions = Array.from({ length: 10_000 }, (_, at) => `session-${at}`);

/** The names of the nodes that sessions get, one for each session. */
function chosen(
  candidates: readonly Candidate[],
  {
    eligible = all,
    load = idle,
    mean = load,
  }: {
    eligible?: (one: Candidate) => boolean;
    load?: (id: string) => number;
    mean?: (id: string) => number;
  } = {},
): string[] {
  const [tier] = tiersOf(candidates, 'chat');
  if (tier === undefined) throw new Error('no tier');
  return sessions.map(
    (session) =>
      pickForSession(tier, eligible, sessionHash('home/k', 'm', session), {
        underWay: load,
        mean,
        isFull: () => false,
      })?.node.resource.metadata.name ?? '-',
  );
}

function sharesOf(names: readonly string[]): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const name of names) shares[name] = (shares[name] ?? 0) + 1 / names.length;
  return shares;
}

test.each([
  ['two nodes, 1 to 3', { a: 25, b: 75 }],
  ['four alike', { a: 50, b: 50, c: 50, d: 50 }],
  ['1 to 99', { a: 1, b: 99 }],
])('sessions are spread by weight: %s', (_, weights) => {
  const total = Object.values(weights).reduce((sum, each) => sum + each, 0);
  const shares = sharesOf(chosen(Object.entries(weights).map(([name, weight]) => candidate(name, weight))));
  for (const [name, weight] of Object.entries(weights))
    expect(Math.abs((shares[name] ?? 0) - weight / total)).toBeLessThan(0.02);
});

test('other gateways choose alike, in whatever order they know the nodes', () => {
  const names = ['a', 'b', 'c', 'd'];
  expect(chosen(names.toReversed().map((name) => candidate(name)))).toEqual(
    chosen(names.map((name) => candidate(name))),
  );
});

test('a node that leaves moves only its own sessions, and their next node is the second of their order', () => {
  const nodes = ['a', 'b', 'c', 'd'].map((name) => candidate(name));
  const before = chosen(nodes);
  const after = chosen(nodes, { eligible: ({ node }) => node.id !== 'home/b' });
  for (const [at, name] of before.entries()) {
    if (name !== 'b') expect(after[at]).toBe(name);
    else {
      const order = sessionOrder(nodes, sessionHash('home/k', 'm', sessions[at] ?? ''));
      expect(order.map(({ node }) => node.resource.metadata.name).slice(0, 2)).toEqual(['b', after[at]]);
    }
  }
  const moved = after.filter((_, at) => before[at] === 'b');
  for (const share of Object.values(sharesOf(moved))) expect(Math.abs(share - 1 / 3)).toBeLessThan(0.05);
});

test('the session, the key and the model all count', () => {
  const nodes = Array.from({ length: 50 }, (_, at) => candidate(`n${at}`));
  const first = (key: string, model: string, session: string) =>
    sessionOrder(nodes, sessionHash(key, model, session))[0]?.node.id;
  const places = [first('k', 'm', 's'), first('k', 'm', 't'), first('k', 'ms', ''), first('km', '', 's')];
  expect(new Set(places).size).toBeGreaterThan(2);
});

test('a node with more than 1.25 times its share is passed by, and keeps the sessions of others out', () => {
  const nodes = [candidate('a', 25), candidate('b', 75)];
  const busy: Record<string, number> = { 'home/a': 26, 'home/b': 60 };
  const load = (id: string) => busy[id] ?? 0;
  // The share of a is (86 + 1) / 4 = 21.75, and 1.25 times that 27.2.
  expect(chosen(nodes, { load })).toEqual(chosen(nodes));
  busy['home/a'] = 28;
  expect(sharesOf(chosen(nodes, { load }))).toEqual({ b: expect.closeTo(1, 5) });
});

test('a node that exceeds its share for a moment only keeps its sessions, unless it is by more than chance', () => {
  const nodes = [candidate('a', 25), candidate('b', 75)];
  const busy: Record<string, number> = { 'home/a': 30, 'home/b': 60 };
  const load = (id: string) => busy[id] ?? 0;
  const mean = (id: string) => (id === 'home/a' ? 20 : 60);
  expect(chosen(nodes, { load, mean })).toEqual(chosen(nodes));
  // The share is 26, so that 1.25 times that and twice its root are 42.7.
  busy['home/a'] = 43;
  expect(sharesOf(chosen(nodes, { load, mean }))).toEqual({ b: expect.closeTo(1, 5) });
});

test('a node with less than four requests is not passed by', () => {
  const nodes = [candidate('a'), candidate('b')];
  expect(chosen(nodes, { load: (id) => (id === 'home/a' ? 3 : 0) })).toEqual(chosen(nodes));
  expect(new Set(chosen(nodes, { load: (id) => (id === 'home/a' ? 4 : 0) }))).toEqual(new Set(['b']));
});

test('if no candidate is eligible, there is none', () => {
  expect(new Set(chosen([candidate('a')], { eligible: () => false }))).toEqual(new Set(['-']));
});
