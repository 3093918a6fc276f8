import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;

beforeEach(async () => {
  gateway = await startGateway();
});
afterEach(() => gateway.close());

const body = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(400) }] };
const count = async () => {
  const answer = await gateway.post('/messages/count_tokens', body);
  const conversion = answer.headers.get('x-model-gateway-conversion');
  return { status: answer.status, conversion, answer, ...((await answer.json()) as object) };
};
const addTokenizer = (behaviour: Behaviour): Promise<ScriptedUpstream> =>
  gateway.addNode('tokenizer', { spec: { dialect: { tokenize: true } } }).then((node) => {
    node.respondWith('/tokenize', behaviour);
    return node;
  });

test('an estimate, which says that it is one; no node is asked', async () => {
  const chat = await gateway.addNode('chat');
  const { answer, ...counted } = await count();
  expect(counted).toEqual({ status: 200, conversion: 'count_tokens->estimate', input_tokens: 104 });
  expect(answer.headers.get('x-model-gateway-node')).toBeNull();
  expect(chat.requests).toHaveLength(0);
  expect(gateway.done).toMatchObject([{ status: 200, attempts: 0, node: undefined }]);
});

test('a node that tokenizes counts, beside its /v1', async () => {
  const node = await addTokenizer({ kind: 'answer', body: { count: 77, max_model_len: 1, tokens: [] } });
  await gateway.addNode('chat', { spec: { priority: 90 } });
  const { answer, ...counted } = await count();
  expect(counted).toEqual({ status: 200, conversion: 'count_tokens->tokenize', input_tokens: 77 });
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/tokenizer');
  expect(node.requests[0]?.path).toBe('/tokenize');
  expect(JSON.parse(node.requests[0]?.body.toString() ?? '')).toMatchObject({
    model: 'm',
    messages: [{ role: 'user' }],
  });
});

test.each<[string, Behaviour]>([
  ['404', { kind: 'answer', status: 404, body: {} }],
  ['400', { kind: 'answer', status: 400, body: {} }],
  ['reset', { kind: 'resetBeforeHead' }],
  ['no count', { kind: 'answer', body: { tokens: [] } }],
  ['no JSON', { kind: 'answer', body: '<html>' }],
])('%s of the tokenizer: the estimate', async (_name, behaviour) => {
  await addTokenizer(behaviour);
  expect(await count()).toMatchObject({
    status: 200,
    conversion: 'count_tokens->estimate',
    input_tokens: 104,
  });
});

test('a node that speaks messages counts best, whatever its priority', async () => {
  await gateway.addNode('chat', { spec: { priority: 90 } });
  const own = await gateway.addNode('own', { spec: { priority: 1, nativeFormats: ['Messages'] } });
  expect(await count()).toMatchObject({ status: 200, conversion: null, input_tokens: 7 });
  own.respondWith('/messages/count_tokens', { kind: 'answer', status: 503, body: {} });
  expect(await count()).toMatchObject({ status: 200, conversion: 'count_tokens->estimate' });
});

test.each([404, 405])('%i of a node that speaks messages without counting: the estimate', async (status) => {
  const own = await gateway.addNode('own', { spec: { nativeFormats: ['Messages'] } });
  own.respondWith('/messages/count_tokens', { kind: 'answer', status, body: { error: 'no such path' } });
  const { answer, ...counted } = await count();
  expect(counted).toEqual({ status: 200, conversion: 'count_tokens->estimate', input_tokens: 104 });
  expect(answer.headers.get('x-model-gateway-node')).toBeNull();
  expect(gateway.done).toMatchObject([{ status: 200, attempts: 1, conversion: 'count_tokens->estimate' }]);
  own.respondWith('/messages/count_tokens', { kind: 'answer', status: 400, body: { error: 'bad' } });
  expect((await gateway.post('/messages/count_tokens', body)).status).toBe(400);
});

test('a caller that leaves takes the count with it', async () => {
  const node = await addTokenizer({ kind: 'hang' });
  await gateway
    .post('/messages/count_tokens', body, { signal: AbortSignal.timeout(100) })
    .catch(() => undefined);
  await node.waitFor(([request]) => request?.clientGoneTime !== undefined, 1000);
});

test('a bad request is refused', async () => {
  await gateway.addNode('chat');
  const answer = await gateway.post('/messages/count_tokens', { model: 'm' });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { message: 'messages: Field required' } });
});

test('counts that fail open no circuit of the model, asked by /tokenize or in the node’s own format', async () => {
  const node = await addTokenizer({ kind: 'answer', status: 500, body: {} });
  for (let i = 0; i < 6; i++) expect((await count()).status).toBe(200);
  gateway.setNode('tokenizer', { baseURL: node.url, manualModels: ['m'], nativeFormats: ['Messages'] });
  node.respondWith('/messages/count_tokens', { kind: 'answer', status: 500, body: {} });
  for (let i = 0; i < 6; i++) expect((await count()).status).toBe(500);
  expect(gateway.gateway.openCircuits()).toBe(0);
  expect(gateway.attempted).toEqual(new Array(12).fill('default/tokenizer server_error'));
});

test('a node that cannot be reached by a count cannot be reached', async () => {
  await addTokenizer({ kind: 'resetBeforeHead' });
  for (let i = 0; i < 6; i++) expect((await count()).status).toBe(200);
  expect(gateway.gateway.openCircuits()).toBe(1);
});
