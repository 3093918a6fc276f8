import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Three namespaces that the gateway serves (the home one, and two teams a and b) and one that it does not.
type Place = 'home' | 'a' | 'b';
const places: readonly Place[] = ['home', 'a', 'b'];

/** Whom a node admits; `admits` says it in words of this table, for namespaces other than its own. */
const rules = [
  { rule: 'absent', admits: [] },
  { rule: 'Same', from: 'Same', admits: [] },
  { rule: 'All', from: 'All', admits: ['home', 'a', 'b'] },
  { rule: 'Names-a', from: 'Names', names: ['a'], admits: ['a'] },
  { rule: 'Names-b', from: 'Names', names: ['b'], admits: ['b'] },
  { rule: 'Names-home', from: 'Names', names: ['home'], admits: ['home'] },
] as const satisfies readonly { rule: string; from?: string; names?: Place[]; admits: Place[] }[];
const reaches: readonly (readonly Place[])[] = [[], ['home'], ['a'], ['b'], ['a', 'b']];

const nodes = places.flatMap((place) => rules.map(({ rule, admits }) => ({ place, rule, admits })));
const keys = places.flatMap((place) => reaches.map((reach) => ({ place, reach })));
type Node = (typeof nodes)[number];
type Key = (typeof keys)[number];
const modelOf = ({ place, rule }: Node) => `${place}-${rule}`;
const nameOf = ({ place, reach }: Key) => `key of ${place}, nodeNamespaces [${reach.join(', ')}]`;

/** The rule as the test knows it: the same namespace, or both sides agree. */
function serves(node: Node, key: Key): boolean {
  if (node.place === key.place) return true;
  const nodeAgrees = (node.admits as readonly Place[]).includes(key.place);
  const keyAgrees = node.place === 'home' || key.reach.includes(node.place);
  return nodeAgrees && keyAgrees;
}

let stage: Stage;
const callers = new Map<Key, Caller>();
const real = (place: Place): string => stage.namespaces[places.indexOf(place)] ?? '';
const callerOf = (key: Key): Caller => callers.get(key) ?? expect.unreachable('no such key');
const keyOf = (place: Place, ...reach: Place[]): Key =>
  keys.find((key) => key.place === place && key.reach.join() === reach.join()) ??
  expect.unreachable('no such key');

beforeAll(async () => {
  stage = await startStage({ namespaces: ['tenancy-home', 'tenancy-a', 'tenancy-b'], roles: ['gateway'] });
  const upstream = await stage.upstream();
  const add = (place: Place, name: string, spec: Record<string, unknown>) =>
    stage.resources.create('UpstreamNode', real(place), name, {
      baseURL: upstream.url,
      sync: { discovery: 'Never' },
      ...spec,
    });
  for (const node of nodes) {
    const rule = rules.find((each) => each.rule === node.rule);
    const names = rule !== undefined && 'names' in rule ? { names: rule.names.map(real) } : {};
    const callerNamespaces =
      rule !== undefined && 'from' in rule ? { callerNamespaces: { from: rule.from, ...names } } : {};
    const name = `n-${node.rule.toLowerCase()}`;
    await add(node.place, name, { manualModels: [modelOf(node), 'shared'], ...callerNamespaces });
  }
  for (const key of keys) {
    const nodeNamespaces = key.reach.length > 0 ? { nodeNamespaces: key.reach.map(real) } : {};
    const name = `k-${['none', ...key.reach].join('-')}`;
    callers.set(key, stage.caller(await stage.resources.addKey(real(key.place), name, nodeNamespaces)));
  }
  const everybody = { callerNamespaces: { from: 'All' } };
  await add('home', 'off', { manualModels: ['home-off'], enabled: false, ...everybody });
  await add('a', 'off', { manualModels: ['a-off'], enabled: false, ...everybody });
  await add('a', 'aliased', { manualModels: ['a-real'], models: [{ name: 'a-real', aliases: ['a-alias'] }] });
  await eventually(
    'the last key opens',
    async () => (await callerOf(keyOf('b', 'a', 'b')).chat('-')).status === 404,
  );
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Checks that an error names no namespace or node, and no model that the caller did not name. */
function expectSilence(text: string, asked: string): void {
  const rest = text.replaceAll(asked, '');
  for (const namespace of stage.namespaces) expect(rest).not.toContain(namespace);
  for (const { rule } of rules) expect(rest).not.toContain(`n-${rule.toLowerCase()}`);
}

describe.each(keys.map((key) => ({ key, name: nameOf(key) })))('$name', ({ key }) => {
  test('reaches exactly the nodes that both sides allow, and sees no others', async () => {
    const caller = callerOf(key);
    const unknown = await caller.chat('no-such-model');
    expect({ status: unknown.status, code: unknown.code }).toEqual({ status: 404, code: 'model_not_found' });
    for (const node of nodes) {
      const model = modelOf(node);
      const answer = await caller.chat(model);
      const described = await caller.send('GET', `/models/${model}`);
      if (serves(node, key)) {
        expect(answer.status, model).toBe(200);
        expect(answer.headers.get('x-model-gateway-node')).toBe(
          `${real(node.place)}/n-${node.rule.toLowerCase()}`,
        );
        expect(described.status, model).toBe(200);
      } else {
        // The same text as for a model that exists nowhere.
        expect(answer.status, model).toBe(404);
        expect(answer.text.replaceAll(model, 'no-such-model')).toBe(unknown.text);
        expect(answer.headers.get('x-model-gateway-node')).toBeNull();
        expectSilence(answer.text, model);
        expect(described.status, model).toBe(404);
        expectSilence(described.text, model);
      }
    }
  });

  test('lists exactly those', async () => {
    const listed = (await callerOf(key).models()).filter((model) =>
      /^(home|a|b)-(absent|Same|All|Names)/.test(model),
    );
    expect(listed.sort()).toEqual(
      nodes
        .filter((node) => serves(node, key))
        .map(modelOf)
        .sort(),
    );
  });

  test('is served a name that every namespace has only by allowed nodes', async () => {
    const allowed = new Set(
      nodes
        .filter((node) => serves(node, key))
        .map(({ place, rule }) => `${real(place)}/n-${rule.toLowerCase()}`),
    );
    const used = new Set<string>();
    for (let n = 0; n < 20; n += 1) {
      const answer = await callerOf(key).chat('shared');
      expect(answer.status).toBe(200);
      used.add(answer.headers.get('x-model-gateway-node') ?? '');
    }
    for (const node of used) expect(allowed).toContain(node);
  });
});

test('"disabled" is said to callers that may use the node; for others the model does not exist', async () => {
  const cases = [
    { model: 'home-off', key: keyOf('home'), code: 'model_disabled' },
    { model: 'home-off', key: keyOf('a'), code: 'model_disabled' },
    { model: 'a-off', key: keyOf('a'), code: 'model_disabled' },
    { model: 'a-off', key: keyOf('b', 'a'), code: 'model_disabled' },
    { model: 'a-off', key: keyOf('b'), code: 'model_not_found' },
    { model: 'a-off', key: keyOf('home'), code: 'model_not_found' },
  ];
  for (const { model, key, code } of cases) {
    const answer = await callerOf(key).chat(model);
    expect(answer.code, `${model} for ${nameOf(key)}`).toBe(code);
    expectSilence(answer.text, model);
    expect(await callerOf(key).models()).not.toContain(model);
  }
});

test('an alias is as hidden as its model', async () => {
  expect((await callerOf(keyOf('a')).chat('a-alias')).status).toBe(200);
  for (const key of [keyOf('b', 'a'), keyOf('home', 'a')]) {
    expect((await callerOf(key).chat('a-alias')).code).toBe('model_not_found');
    expect(await callerOf(key).models()).not.toContain('a-alias');
  }
});

test('an allowlist is judged before existence, so it reveals nothing of what others have', async () => {
  const text = await stage.resources.addKey(real('b'), 'limited', { models: ['b-Same', 'a-Same'] });
  const caller = stage.caller(text);
  await eventually('it opens', async () => (await caller.chat('b-Same')).status === 200);
  const [hidden, unknown] = [await caller.chat('a-All'), await caller.chat('no-such-model')];
  expect([hidden.code, unknown.code]).toEqual(['model_not_allowed', 'model_not_allowed']);
  // Allowed by name, but out of sight: unknown.
  expect((await caller.chat('a-Same')).code).toBe('model_not_found');
  expect(await caller.models()).toEqual(['b-Same']);
});

test('a retry never leaves the nodes that the key may use', async () => {
  const [broken, hidden] = [await stage.upstream(), await stage.upstream()];
  broken.respondWith('/chat/completions', {
    kind: 'answer',
    status: 500,
    body: { error: { message: 'broken' } },
  });
  const spec = { manualModels: ['retried'], sync: { discovery: 'Never' } };
  const { create } = stage.resources;
  await create('UpstreamNode', real('a'), 'broken', { ...spec, baseURL: broken.url });
  await create('UpstreamNode', real('b'), 'whole', {
    ...spec,
    baseURL: hidden.url,
    callerNamespaces: { from: 'All' },
  });
  const ours = callerOf(keyOf('b'));
  await eventually('its own namespace is served', async () => (await ours.chat('retried')).status === 200);
  const before = hidden.requests.length;
  const answer = await callerOf(keyOf('a')).chat('retried');
  expect(answer.status).toBe(500);
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
  expect(hidden.requests).toHaveLength(before);
});

test('a namespace that is not served has no keys and no nodes here', async () => {
  const outside = await stage.cluster.newNamespace('tenancy-outside');
  const text = await stage.resources.addKey(outside, 'outside', { nodeNamespaces: [real('a')] });
  await stage.resources.create('UpstreamNode', outside, 'outside', {
    baseURL: 'http://127.0.0.1:9/v1',
    manualModels: ['outside-model'],
    callerNamespaces: { from: 'All' },
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect((await stage.caller(text).chat('a-All')).status).toBe(401);
  const inside = stage.caller(
    await stage.resources.addKey(real('a'), 'curious', { nodeNamespaces: [outside] }),
  );
  await eventually('it opens', async () => (await inside.chat('a-All')).status === 200);
  expect((await inside.chat('outside-model')).code).toBe('model_not_found');
});

test('a change of either side takes effect at once', async () => {
  const caller = callerOf(keyOf('b', 'a'));
  const { patch } = stage.resources;
  expect((await caller.chat('a-All')).status).toBe(200);
  const path = (from: string) => ({ spec: { callerNamespaces: { from } } });
  await patch('UpstreamNode', real('a'), 'n-all', path('Same'));
  await eventually('hidden', async () => (await caller.chat('a-All')).code === 'model_not_found');
  await patch('UpstreamNode', real('a'), 'n-all', path('All'));
  await eventually('seen', async () => (await caller.chat('a-All')).status === 200);
  await patch('APIKey', real('b'), 'k-none-a', { spec: { nodeNamespaces: null } });
  await eventually('hidden', async () => (await caller.chat('a-All')).code === 'model_not_found');
});
