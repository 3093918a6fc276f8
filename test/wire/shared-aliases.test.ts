import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let both: ScriptedUpstream;
let other: ScriptedUpstream;

// `fast` means the model "big" of two nodes, and where neither serves it, "small" of the first.
beforeEach(async () => {
  gateway = await startGateway();
  both = await gateway.addNode('both', {
    spec: {
      manualModels: ['big', 'small', 'große'],
      models: [
        { name: 'big', aliases: ['fast'], priority: 90 },
        { name: 'small', aliases: ['fast'], priority: 10 },
        { name: 'große', aliases: ['large'] },
      ],
    },
  });
  other = await gateway.addNode('other', {
    spec: { manualModels: ['big'], models: [{ name: 'big', aliases: ['fast'] }], priority: 50 },
  });
});
afterEach(() => gateway.close());

const ask = async (path = '/chat/completions', model = 'fast') => {
  const answer = await gateway.post(path, {
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 5,
  });
  await answer.text();
  const header = (name: string) => answer.headers.get(`x-model-gateway-${name}`);
  return [answer.status, header('node'), header('model'), header('attempts')];
};
const modelsSentTo = (upstream: ScriptedUpstream) =>
  upstream
    .requestsTo('/chat/completions')
    .map(({ body }) => (JSON.parse(body.toString()) as { model: string }).model);
const limited = { kind: 'answer', status: 429, body: { error: { message: 'slow down' } } } as const;

test('an alias goes to its models by their own priorities, and the answer names the model', async () => {
  expect(await ask()).toEqual([200, 'default/both', 'big', '1']);
  expect(await ask('/messages')).toEqual([200, 'default/both', 'big', '1']);
  expect(await ask('/chat/completions', 'big')).toEqual([200, 'default/both', null, '1']);
  expect(await ask('/chat/completions', 'large')).toEqual([200, 'default/both', 'gro%C3%9Fe', '1']);
});

test('one model of a node fails: the next node, then another model of the first node', async () => {
  both.respondWith('/chat/completions', [limited, { kind: 'well' }]);
  other.respondWith('/chat/completions', limited);
  expect(await ask()).toEqual([200, 'default/both', 'small', '3']);
  expect(modelsSentTo(both)).toEqual(['big', 'small']);
  expect(modelsSentTo(other)).toEqual(['big']);
});

test('a node that cannot be reached is not asked for its other models', async () => {
  both.respondWith('/chat/completions', { kind: 'resetBeforeHead' });
  other.respondWith('/chat/completions', limited);
  const [status, node, model, attempts] = await ask();
  expect([status, node, model, attempts]).toEqual([429, 'default/other', 'big', '2']);
  expect(modelsSentTo(both)).not.toContain('small');
});

test('a disabled model leaves its alias to the others', async () => {
  gateway.setNode('both', {
    baseURL: both.url,
    manualModels: ['big', 'small'],
    models: [
      { name: 'big', aliases: ['fast'], enabled: false, priority: 90 },
      { name: 'small', aliases: ['fast'], weight: 100 },
    ],
  });
  gateway.setNode('other', { baseURL: other.url, manualModels: ['big'], enabled: false });
  expect(await ask()).toEqual([200, 'default/both', 'small', '1']);
});

test('models of one priority share the requests of an alias by their weights', async () => {
  gateway.setNode('both', {
    baseURL: both.url,
    manualModels: ['big', 'small'],
    models: [
      { name: 'big', aliases: ['fast'], weight: 90 },
      { name: 'small', aliases: ['fast'], weight: 10 },
    ],
  });
  gateway.setNode('other', { baseURL: other.url, manualModels: ['big'], enabled: false });
  for (let count = 0; count < 200; count += 1) await ask();
  const big = modelsSentTo(both).filter((model) => model === 'big').length;
  // 180 are expected; 150 and 198 are more than four standard deviations away.
  expect(big).toBeGreaterThan(150);
  expect(big).toBeLessThan(198);
});
