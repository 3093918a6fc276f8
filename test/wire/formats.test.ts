import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let chat: ScriptedUpstream;
let native: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway();
  chat = await gateway.addNode('chat', {
    spec: { priority: 90, manualModels: ['m', 'only-chat'], models: [{ name: 'm', aliases: ['alias'] }] },
  });
  native = await gateway.addNode('native', {
    spec: { nativeFormats: ['Responses', 'Messages', 'Completions'] },
  });
});
afterAll(() => gateway.close());

test.each([
  ['/chat/completions', 'chat', '/v1/chat/completions'],
  ['/embeddings', 'chat', '/v1/embeddings'],
  ['/completions', 'chat', '/v1/chat/completions'],
  ['/responses', 'chat', '/v1/chat/completions'],
  ['/messages', 'chat', '/v1/chat/completions'],
  ['/messages?beta=true', 'chat', '/v1/chat/completions'],
  ['/messages/count_tokens', 'native', '/v1/messages/count_tokens'],
])('%s goes to the node of the highest priority: %s', async (path, node, upstreamPath) => {
  const answer = await gateway.post(path, {
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    ...(path === '/completions' ? { prompt: 'x' } : { input: 'x' }),
    max_tokens: 1,
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-model-gateway-node')).toBe(`default/${node}`);
  expect((node === 'chat' ? chat : native).requests.at(-1)?.path).toBe(upstreamPath);
});

test.each([
  ['/completions', '/v1/completions'],
  ['/responses', '/v1/responses'],
  ['/messages', '/v1/messages'],
])('%s reaches a node that speaks it byte for byte, and names no conversion', async (path, upstreamPath) => {
  gateway.setNode('own', {
    baseURL: native.url,
    manualModels: ['own'],
    nativeFormats: ['Responses', 'Messages', 'Completions'],
  });
  const body = '{"model":"own",  "messages":[], "input":"x","prompt":"x","max_tokens":1.0}';
  const answer = await gateway.post(path, body);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-model-gateway-conversion')).toBeNull();
  expect(native.requests.at(-1)?.path).toBe(upstreamPath);
  expect(native.requests.at(-1)?.body.toString()).toBe(body);
});

test('an alias is rewritten in place; the answer keeps the name that the node wrote', async () => {
  const answer = await gateway.post('/chat/completions', '{"messages":[],\n "model" : "alias", "seed":1e0}');
  expect(chat.requests.at(-1)?.body.toString()).toBe('{"messages":[],\n "model" : "m", "seed":1e0}');
  expect(await answer.json()).toMatchObject({ model: 'm' });
});

test('unknown and disabled models are told apart', async () => {
  gateway.setNode('off', {
    baseURL: chat.url,
    manualModels: ['off'],
    models: [{ name: 'off', enabled: false }],
  });
  const unknown = await gateway.post('/chat/completions', { model: 'x'.repeat(5000) });
  expect(unknown.status).toBe(404);
  expect(JSON.stringify(await unknown.json()).length).toBeLessThan(500);
  const disabled = await gateway.post('/chat/completions', { model: 'off' });
  expect(disabled.status).toBe(403);
  expect(await disabled.json()).toMatchObject({ error: { code: 'model_disabled' } });
});

test('a node without its credential gives 503 and a time to come back', async () => {
  gateway.setNode('keyless', {
    baseURL: chat.url,
    manualModels: ['k'],
    apiKeySecretRef: { name: 'missing' },
  });
  const answer = await gateway.post('/chat/completions', { model: 'k' });
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('5');
  const messages = await gateway.post('/messages', { model: 'k', messages: [], max_tokens: 1 });
  expect(messages.status).toBe(529);
  const headers = { 'x-api-key': gateway.key };
  expect((await fetch(`${gateway.baseURL}/models/k`, { headers })).status).toBe(503);
});

test('the models are listed and described, slashes and all', async () => {
  gateway.setNode('slash', { baseURL: chat.url, manualModels: ['org/model:7b'] });
  const get = async (path: string) => {
    const answer = await fetch(`${gateway.baseURL}${path}`, { headers: { 'x-api-key': gateway.key } });
    return [answer.status, await answer.json()];
  };
  const [status, list] = await get('/models');
  expect(status).toBe(200);
  expect((list as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([
    'alias',
    'm',
    'only-chat',
    'org/model:7b',
    'own',
  ]);
  for (const path of ['/models/org/model:7b', '/models/org%2Fmodel%3A7b']) {
    expect(await get(path)).toMatchObject([200, { id: 'org/model:7b', object: 'model', type: 'model' }]);
  }
  expect(await get('/models/none')).toMatchObject([404, { error: { code: 'model_not_found' } }]);
});

test('keys are made, shown, listed and deleted over HTTP', async () => {
  const master = gateway.addKey({}, { kind: 'MasterKey' });
  const headers = { authorization: `Bearer ${master}`, 'content-type': 'application/json' };
  const made = await fetch(`${gateway.baseURL}/keys`, {
    method: 'POST',
    headers,
    body: '{"name":"app","models":["m"]}',
  });
  expect(made.status).toBe(201);
  const { id, value } = (await made.json()) as { id: string; value: string };
  const use = () =>
    gateway.post('/chat/completions', { model: 'm' }, { headers: { authorization: `Bearer ${value}` } });
  expect((await use()).status).toBe(200);
  const shown = await fetch(`${gateway.baseURL}/keys/${id}`, { headers });
  expect(JSON.stringify(await shown.json())).not.toContain(value);
  const list = await fetch(`${gateway.baseURL}/keys?limit=1`, { headers });
  expect(await list.json()).toMatchObject({ object: 'list', has_more: true });
  const gone = await fetch(`${gateway.baseURL}/keys/${id}`, { method: 'DELETE', headers });
  expect(await gone.json()).toEqual({ object: 'api_key.deleted', id, deleted: true });
  expect((await use()).status).toBe(401);
  const bad = await fetch(`${gateway.baseURL}/keys`, { method: 'POST', headers, body: '{"nam":1}' });
  expect(await bad.json()).toMatchObject({ error: { code: 'unknown_parameter' } });
});
