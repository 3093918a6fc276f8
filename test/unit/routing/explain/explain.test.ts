import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCircuits } from '../../../../src/gateway/attempt/circuits.ts';
import { createLog } from '../../../../src/observe/log.ts';
import type { ApiKey } from '../../../../src/resources/api-key.ts';
import type { UpstreamNode } from '../../../../src/resources/upstream-node.ts';
import type { CallerFormat } from '../../../../src/routing/caller-format.ts';
import { explainRoute, type RouteQuestion } from '../../../../src/routing/explain/explain.ts';
import { createRouter } from '../../../../src/routing/route.ts';
import { Content } from '../../../../src/store/content.ts';
import type { KeyEntry } from '../../../../src/store/store.ts';
import { makeKey, makeNode } from '../../store/make.ts';

const now = Date.parse('2026-08-01T12:00:00Z');
/** What no chat-completions can carry. */
const thinking = { thinking: { type: 'enabled', budget_tokens: 2000 } };
const log = createLog({ level: 'error', format: 'json', role: 'test', destination: { write: () => {} } });
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1000).toISOString();

function viewOf(nodes: readonly UpstreamNode[]): Content {
  const content = new Content({ log, sealingNamespace: 'home', openSealed: async () => undefined });
  for (const node of nodes) content.set(node);
  return content;
}

function routeView(content: Content): RouteQuestion['view'] {
  return {
    served: (name) => content.served(name),
    nodes: () =>
      [...content.list('UpstreamNode')].flatMap(
        ({ metadata }) => content.node(metadata.namespace, metadata.name) ?? [],
      ),
  };
}

function entryOf(spec: object = {}, namespace = 'home'): KeyEntry {
  const resource: ApiKey = makeKey({ secretName: 's', ...spec }, { namespace });
  const { models } = resource.spec;
  return { resource, expiresAtMs: Number.POSITIVE_INFINITY, models: models && new Set(models) };
}

function explain(nodes: readonly UpstreamNode[], question: Partial<RouteQuestion> = {}) {
  return explainRoute({
    view: routeView(viewOf(nodes)),
    model: 'm',
    key: entryOf(),
    format: 'chat',
    homeNamespace: 'home',
    now,
    circuits: undefined,
    ...question,
  });
}

/** A node `name` of namespace `home` that has the model `m` by hand. */
function node(name: string, spec: object = {}, status?: object, namespace = 'home'): UpstreamNode {
  return makeNode({ manualModels: ['m'], ...spec }, status, { name, namespace });
}

test('order, tiers and shares: healthy ones by priority and weight, then the demoted ones', () => {
  const { nodes, refusal, others } = explain([
    node('low', { priority: 10 }),
    node('a', { weight: 75 }),
    node('b', { weight: 25 }),
    node('bad', { priority: 90 }, { phase: 'error', lastHealthCheckTime: at(120) }),
    node('stale', { priority: 1 }, { phase: 'offline', lastHealthCheckTime: at(3600) }),
    node('unchecked', { priority: 2 }, { phase: 'error' }),
    node('other', { manualModels: ['x'], sync: { discovery: 'Never' } }),
  ]);
  expect(refusal).toBeUndefined();
  expect(others).toBe(1);
  expect(nodes.map(({ node, position, tier, share }) => [node, position, tier, share])).toEqual([
    ['home/a', 1, 1, 0.75],
    ['home/b', 2, 1, 0.25],
    ['home/low', 3, 2, 1],
    ['home/unchecked', 4, 3, 1],
    ['home/stale', 5, 4, 1],
    ['home/bad', 6, 5, 1],
  ]);
  expect(nodes[5]?.demoted).toEqual([{ reason: 'phase', phase: 'error', ageMs: 120_000 }]);
  expect(nodes[3]?.notes).toEqual(['its phase error comes from no check, so it is not demoted for it']);
  expect(nodes[4]?.demoted).toEqual([]);
  expect(nodes[4]?.notes.join()).toContain('older than 15 minutes');
});

test('a circuit demotes where every gateway has it open, and is told of where some have', () => {
  const gateway = (name: string, open: readonly string[]) => ({
    gateway: name,
    state: (id: string) => (open.includes(id) ? ('open' as const) : ('closed' as const)),
  });
  const nodes = [node('a'), node('b')];
  const both = explain(nodes, { circuits: [gateway('g1', ['home/a']), gateway('g2', ['home/a'])] });
  expect(both.nodes.map(({ node, demoted, openIn }) => [node, demoted, openIn])).toEqual([
    ['home/b', [], []],
    ['home/a', [{ reason: 'circuit', gateways: ['g1', 'g2'] }], []],
  ]);
  const one = explain(nodes, { circuits: [gateway('g1', ['home/a']), gateway('g2', [])] });
  expect(one.nodes.map(({ node, share, openIn }) => [node, share, openIn])).toEqual([
    ['home/a', 0.5, ['g1']],
    ['home/b', 0.5, []],
  ]);
  expect(explain(nodes).circuitsKnown).toBe(false);
});

const exclusions: [string, UpstreamNode, Partial<RouteQuestion>, string, RegExp[]][] = [
  ['node disabled', node('n', { enabled: false }), {}, 'model_disabled', [/^node_disabled .*node enable n$/]],
  [
    'model disabled by hand',
    node('n', { models: [{ name: 'm', enabled: false }] }),
    {},
    'model_disabled',
    [/^model_disabled .*spec\.models.*model enable n m$/],
  ],
  [
    'model that started disabled, on a disabled node: both are told',
    makeNode(
      { enabled: false, sync: { newModels: 'Disabled' } },
      { models: [{ name: 'm', enabled: false, source: 'Discovered' }], lastSyncTime: at(1) },
      { name: 'n', namespace: 'home' },
    ),
    {},
    'model_disabled',
    [/^node_disabled /, /^model_disabled .*spec\.sync\.newModels/],
  ],
  [
    'being deleted',
    makeNode({ manualModels: ['m'] }, undefined, {
      name: 'n',
      namespace: 'home',
      deletionTimestamp: '2026-08-01T11:00:00Z',
    }),
    {},
    'model_disabled',
    [/^being_deleted .*2026-08-01T11:00:00Z/],
  ],
  ['allowlist', node('n'), { key: entryOf({ models: ['x'] }) }, 'model_not_allowed', [/^allowlist .*"m"/]],
  [
    'the node does not admit',
    node('n'),
    { key: entryOf({}, 'team') },
    'model_not_found',
    [/^namespace .*does not admit keys of namespace "team".*callerNamespaces$/],
  ],
  [
    'the key does not accept',
    node('n', { callerNamespaces: { from: 'All' } }, undefined, 'bait'),
    { key: entryOf({}, 'team') },
    'model_not_found',
    [/^namespace .*accepts no nodes of namespace "bait".*nodeNamespaces$/],
  ],
  [
    'neither side agrees',
    node('n', {}, undefined, 'bait'),
    { key: entryOf({}, 'team') },
    'model_not_found',
    [/^namespace .*does not admit.*, and .*accepts no nodes/],
  ],
  [
    'credential',
    node('n', { apiKeySecretRef: { name: 's' } }),
    {},
    'no_node_available',
    [/^credentials .*not resolved yet/],
  ],
  [
    'a wish for a model that the node does not list',
    makeNode(
      { models: [{ name: 'm', enabled: true }] },
      { lastSyncTime: at(1) },
      { name: 'n', namespace: 'home' },
    ),
    {},
    'model_not_found',
    [/^unknown_model spec\.models names it, but it is neither discovered nor/],
  ],
  [
    'an alias of a model that the node does not list',
    makeNode(
      { models: [{ name: 'x', aliases: ['m'] }] },
      { lastSyncTime: at(1) },
      { name: 'n', namespace: 'home' },
    ),
    {},
    'model_not_found',
    [/^unknown_model "m" is an alias of "x", which is neither/],
  ],
  [
    'never synced',
    makeNode({}, undefined, { name: 'n', namespace: 'home' }),
    {},
    'model_not_found',
    [/never synced/],
  ],
  [
    'a failed sync',
    makeNode({}, { lastSyncTime: at(1), lastSyncError: 'HTTP 401' }, { name: 'n', namespace: 'home' }),
    {},
    'model_not_found',
    [/last sync failed/],
  ],
  [
    'another case',
    node('n', { manualModels: ['M'], sync: { discovery: 'Never' } }),
    {},
    'model_not_found',
    [/^unknown_model it knows "M", and names are case-sensitive/],
  ],
  [
    'a request that cannot be converted',
    node('n'),
    { format: 'responses', body: { model: 'm', input: 'x', previous_response_id: 'resp_1' } },
    'conversion_refused',
    [/^conversion .*previous_response_id/],
  ],
  [
    'a strict key, and something would be lost',
    node('n'),
    {
      format: 'messages',
      key: entryOf({ conversion: 'Strict' }),
      body: { model: 'm', max_tokens: 5, top_k: 3, messages: [{ role: 'user', content: 'x' }] },
    },
    'conversion_refused',
    [/^conversion .*top_k.*conversion: Lossy$/],
  ],
];
test.each(exclusions)('why not: %s', (_, one, question, refusal, expected) => {
  const { nodes, ...explanation } = explain([one], question);
  expect(explanation.refusal).toBe(refusal);
  expect(nodes).toHaveLength(1);
  expect(nodes[0]).toMatchObject({ position: undefined, share: undefined });
  const told =
    nodes[0]?.excluded.map(({ reason, message, remedy }) => `${reason} ${message}; ${remedy}`) ?? [];
  expect(told).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});

test('conversion: what it drops, who speaks the format, and that those come first where something is lost', () => {
  const nodes = [node('chat', { weight: 90 }), node('speaks', { weight: 10, nativeFormats: ['Messages'] })];
  const body = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
  const any = explain(nodes, { format: 'messages' });
  expect(any.nativeFirst).toBe('depends');
  expect(any.nodes.map(({ native, conversion, share }) => [native, conversion, share])).toEqual([
    [false, { name: 'messages->chat', dropped: undefined }, 0.9],
    [true, undefined, 0.1],
  ]);
  const harmless = explain(nodes, { format: 'messages', body });
  expect(harmless.nativeFirst).toBe(false);
  expect(harmless.nodes[0]).toMatchObject({ node: 'home/chat', share: 0.9, conversion: { dropped: [] } });
  const lossy = explain(nodes, { format: 'messages', body: { ...body, ...thinking } });
  expect(lossy.nativeFirst).toBe(true);
  expect(lossy.nodes.map(({ node, tier, share }) => [node, tier, share])).toEqual([
    ['home/speaks', 1, 1],
    ['home/chat', 2, 1],
  ]);
  expect(lossy.nodes[1]?.conversion?.dropped).toEqual(['thinking.budget_tokens']);
});

test('aliases: what a name stands for, and which alias is shadowed', () => {
  const { nodes } = explain([
    node('real', { manualModels: ['m', 'x'], models: [{ name: 'x', aliases: ['m'] }] }),
    node('twice', {
      manualModels: ['a', 'b'],
      models: [
        { name: 'b', aliases: ['m'] },
        { name: 'a', aliases: ['m'] },
      ],
    }),
  ]);
  expect(nodes.map(({ model, notes }) => [model, notes])).toEqual([
    ['m', ['its alias for "x" is shadowed by the model of that name']],
    ['a', ['an alias of "a"']],
    ['b', ['an alias of "b"']],
  ]);
});

const sketches = fc.array(
  fc.record({
    priority: fc.constantFrom(10, 50),
    weight: fc.integer({ min: 1, max: 100 }),
    native: fc.boolean(),
    enabled: fc.constantFrom(true, true, true, false),
    phase: fc.constantFrom('ready', 'ready', 'idle', 'error', 'offline'),
    open: fc.constantFrom(false, false, true),
    namespace: fc.constantFrom('home', 'home', 'team'),
    credential: fc.constantFrom(true, true, true, false),
  }),
  { minLength: 4, maxLength: 9 },
);
const bodies = {
  none: undefined,
  harmless: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] },
  refused: { model: 'm', max_tokens: 5, mcp_servers: [{}], messages: [{ role: 'user', content: 'x' }] },
  lossy: { model: 'm', max_tokens: 5, ...thinking, messages: [{ role: 'user', content: 'x' }] },
};

test('what is explained is what the router does: the same nodes, in the same tiers, with the same shares', () => {
  const arbitrary = fc.record({
    sketches,
    format: fc.constantFrom<CallerFormat>('chat', 'messages'),
    request: fc.constantFrom<keyof typeof bodies>('none', 'harmless', 'lossy', 'refused'),
    seed: fc.integer(),
  });
  let compared = 0;
  fc.assert(
    fc.property(arbitrary, ({ sketches: drawn, format, request, seed }) => {
      const circuits = createCircuits(() => now);
      const nodes = drawn.map((sketch, index) => {
        const name = `n${index}`;
        if (sketch.open)
          circuits.answered({ node: { id: `${sketch.namespace}/${name}` }, model: 'm' }, 429, 100);
        const { priority, weight, enabled } = sketch;
        const spec = {
          ...{ priority, weight, enabled },
          ...(sketch.native ? { nativeFormats: ['Messages'] } : {}),
          ...(sketch.credential ? {} : { apiKeySecretRef: { name: 's' } }),
        };
        return node(name, spec, { phase: sketch.phase, lastHealthCheckTime: at(1) }, sketch.namespace);
      });
      const view = viewOf(nodes);
      const key = entryOf();
      const random = seeded(seed);
      const router = createRouter({
        view,
        circuits,
        loads: { underWay: () => 0, mean: () => 0, isFull: () => false },
        homeNamespace: 'home',
        random,
        now: () => now,
      });
      const known = [{ gateway: 'g', state: circuits.state }];
      const body = format === 'messages' ? bodies[request] : undefined;
      const {
        nodes: explained,
        refusal,
        nativeFirst,
      } = explain([], { view: routeView(view), key, format, body, circuits: known });
      const wish = nativeFirst === true ? 'preferred' : 'any';
      const pick = (tried: ReadonlySet<string>): string | undefined => {
        const answer = router.next('m', key, format, { has: ({ node }) => tried.has(node.id) }, wish);
        if (answer === undefined || answer === 'ask' || 'full' in answer) return undefined;
        return 'code' in answer ? answer.code : answer.candidate.node.id;
      };

      // The gateway looks at the next node where a request cannot be converted.
      const refusing = explained.filter(({ excluded }) => excluded.at(-1)?.reason === 'conversion');
      const skipped = new Set(
        refusing.filter(({ excluded }) => excluded.length === 1).map(({ node }) => node),
      );
      if (refusal === 'conversion_refused') expect(pick(skipped)).toBeUndefined();
      else if (refusal !== undefined) expect(pick(new Set())).toBe(refusal);
      const taking = explained.filter(({ position }) => position !== undefined);
      const tiers = [...Map.groupBy(taking, ({ tier }) => tier ?? 0)].sort(([one], [other]) => one - other);
      const tried = new Set(skipped);
      for (const [, members] of tiers) {
        expect(sum(members.map(({ share }) => share ?? 0))).toBeCloseTo(1, 9);
        expect(members.map(({ node }) => node)).toContain(pick(tried));
        for (const { node } of members) tried.add(node);
      }
      if (refusal === undefined) expect(pick(tried)).toBeUndefined();

      const [, first] = tiers[0] ?? [];
      if (first === undefined || first.length < 2) return;
      compared += 1;
      const counts = new Map<string, number>();
      for (let picks = 0; picks < 10_000; picks++) {
        const id = pick(skipped) ?? '';
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      for (const { node, share = 0 } of first) {
        // Five standard deviations: one false alarm in a million shares.
        const tolerance = 5 * Math.sqrt(10_000 * share * (1 - share));
        expect(Math.abs((counts.get(node) ?? 0) - 10_000 * share)).toBeLessThan(tolerance + 1);
      }
    }),
    { numRuns: 60, seed: 7 },
  );
  expect(compared).toBeGreaterThan(10);
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A small seeded generator, so that a failure comes again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
