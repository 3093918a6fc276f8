import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let chat: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ random: () => 0 });
  chat = await gateway.addNode('chat');
});
afterEach(() => gateway.close());

const messages = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
const lossy = { ...messages, top_k: 5, thinking: { type: 'enabled', budget_tokens: 2000 } };
const dropped = 'top_k, thinking.budget_tokens';
/** No node can be asked this in chat-completions. */
const impossible = { ...messages, mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] };
const native = { nativeFormats: ['Messages'] };

describe('what could not be carried', () => {
  test.each([false, true])('is named before the first byte (stream: %s)', async (stream) => {
    const answer = await gateway.post('/messages', { ...lossy, stream });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-model-gateway-conversion')).toBe('messages->chat');
    expect(answer.headers.get('x-model-gateway-dropped')?.split(', ').toSorted()).toEqual(
      dropped.split(', ').toSorted(),
    );
    await answer.text();
  });

  test('is bounded and safe in a header, whatever the fields are called', async () => {
    const odd = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`odd\r\nx: ${i}é${'y'.repeat(200)}`, 1]),
    );
    const answer = await gateway.post('/messages', { ...odd, ...messages });
    expect(answer.status).toBe(200);
    const header = answer.headers.get('x-model-gateway-dropped') ?? '';
    expect(header.length).toBeLessThan(4096);
    expect(header).toMatch(/^[\w.[\]?+, -]+$/);
    expect(header).toMatch(/\+1\d\d$/);
  });

  test('is named with errors of the node, too', async () => {
    chat.respondWith('/chat/completions', { kind: 'answer', status: 404, body: {} });
    const answer = await gateway.post('/messages', lossy);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('x-model-gateway-dropped')).toContain('top_k');
  });
});

describe('conversion: Strict', () => {
  test.each([false, true])('a 400 names each field, no node is asked (stream: %s)', async (stream) => {
    const key = gateway.addKey({ conversion: 'Strict' });
    const headers = { authorization: `Bearer ${key}` };
    const answer = await gateway.post('/messages', { ...lossy, stream }, { headers });
    expect(answer.status).toBe(400);
    const body = (await answer.json()) as { error: { message: string } };
    expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    for (const field of dropped.split(', ')) expect(body.error.message).toContain(field);
    expect(answer.headers.get('x-model-gateway-node')).toBeNull();
    const responses = await gateway.post('/responses', { model: 'm', input: 'x', odd: 1 }, { headers });
    expect(await responses.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'odd' } });
    expect(chat.requests).toHaveLength(0);
    expect(gateway.done.map(({ attempts }) => attempts)).toEqual([0, 0]);
    expect((await gateway.post('/messages', messages, { headers })).status).toBe(200);
  });

  test('a node that speaks the format takes it', async () => {
    const own = await gateway.addNode('own', { spec: { ...native, priority: 1 } });
    const headers = { authorization: `Bearer ${gateway.addKey({ conversion: 'Strict' })}` };
    const answer = await gateway.post('/messages', lossy, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
    expect(own.requests).toHaveLength(1);
    expect(chat.requests).toHaveLength(0);
  });
});

describe('refusals', () => {
  test.each([
    ['/messages', impossible, { error: { message: expect.stringMatching(/^mcp_servers: /) } }],
    ['/messages', { model: 'm', messages: [] }, { error: { message: 'max_tokens: Field required' } }],
    ['/messages', { ...messages, messages: [{ role: 'user', content: 1 }] }, { type: 'error' }],
    [
      '/responses',
      { model: 'm', input: 'x', previous_response_id: 'resp_1' },
      { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    ],
    ['/responses', { model: 'm' }, { error: { type: 'invalid_request_error' } }],
    [
      '/completions',
      { model: 'm', prompt: [1, 2] },
      { error: { code: 'unsupported_parameter', param: 'prompt' } },
    ],
    ['/completions', { model: 'm', prompt: 'x', n: 17 }, { error: { param: 'n' } }],
  ])('%s %o', async (path, body, expected) => {
    const answer = await gateway.post(path, body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject(expected);
    expect(answer.headers.get('x-model-gateway-node')).toBeNull();
    expect(chat.requests).toHaveLength(0);
    expect(gateway.done).toMatchObject([{ status: 400, attempts: 0, node: undefined }]);
  });

  test('a node further down that speaks the format is tried, and refusals are no attempts', async () => {
    for (let i = 0; i < 20; i++)
      gateway.setNode(`more${i}`, { baseURL: chat.url, manualModels: ['m'], priority: 80 });
    const own = await gateway.addNode('own', { spec: { ...native, priority: 1 } });
    const answer = await gateway.post('/messages', impossible);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
    expect(own.requests).toHaveLength(1);
    expect(chat.requests).toHaveLength(0);
  });

  test('a dialect that takes files is tried after one that does not', async () => {
    const files = await gateway.addNode('files', { spec: { priority: 1, dialect: { files: true } } });
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
    const body = { ...messages, messages: [{ role: 'user', content: [{ type: 'document', source }] }] };
    expect((await gateway.post('/messages', body)).status).toBe(200);
    expect(files.requests).toHaveLength(1);
    expect(chat.requests).toHaveLength(0);
  });

  test('deep nesting and odd keys do no harm', async () => {
    const deep = `${'{"a":'.repeat(400)}1${'}'.repeat(400)}`;
    for (const text of [
      `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","input_schema":${deep}}]}`,
      `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"__proto__":{"stream":true},"constructor":1}`,
    ]) {
      const answer = await gateway.post('/messages', text);
      expect([200, 400]).toContain(answer.status);
      await answer.json();
    }
    expect(gateway.logged.join('')).not.toContain('unexpectedly');
  });
});

describe('within one priority', () => {
  test('a node that speaks the format is preferred only where something would be lost', async () => {
    const own = await gateway.addNode('own', { spec: native });
    for (let i = 0; i < 3; i++) await (await gateway.post('/messages', messages)).text();
    expect([chat.requests.length, own.requests.length]).toEqual([3, 0]);
    for (const body of [lossy, impossible]) await (await gateway.post('/messages', body)).text();
    expect([chat.requests.length, own.requests.length]).toEqual([3, 2]);
    own.respondWith('/messages', { kind: 'answer', status: 503, body: {} });
    const answer = await gateway.post('/messages', lossy);
    expect(answer.headers.get('x-model-gateway-conversion')).toBe('messages->chat');
    expect(answer.headers.get('x-model-gateway-attempts')).toBe('2');
  });

  test('across priorities it is not', async () => {
    const own = await gateway.addNode('own', { spec: { ...native, priority: 1 } });
    expect((await gateway.post('/messages', lossy)).status).toBe(200);
    expect([chat.requests.length, own.requests.length]).toEqual([1, 0]);
  });
});

describe('a node that refuses a field', () => {
  const refusal = {
    kind: 'answer',
    status: 400,
    body: { error: { message: 'Unknown name "parallel_tool_calls": Cannot find field.' } },
  } as const;
  const tools = [{ name: 'a', input_schema: { type: 'object' } }];
  const serial = { ...messages, tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } };
  const advice = () =>
    gateway.logged.filter((line) => line.includes('spec.dialect.')).map((l) => JSON.parse(l));

  test('is answered to the caller; the log names the switch once', async () => {
    chat.respondWith('/chat/completions', refusal);
    for (let i = 0; i < 3; i++) {
      const answer = await gateway.post('/messages', serial);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { message: 'Unknown name "parallel_tool_calls": Cannot find field.' },
      });
    }
    expect(advice()).toMatchObject([
      { level: 'warn', node: 'default/chat', setting: 'spec.dialect.parallelToolCalls: false' },
    ]);
  });

  test('is not advised what is set already', async () => {
    gateway.setNode('chat', {
      baseURL: chat.url,
      manualModels: ['m'],
      dialect: { parallelToolCalls: false },
    });
    chat.respondWith('/chat/completions', refusal);
    expect((await gateway.post('/messages', serial)).status).toBe(400);
    expect(advice()).toEqual([]);
  });
});

test('the dialect of a model goes before its node’s', async () => {
  gateway.setNode('chat', {
    baseURL: chat.url,
    manualModels: ['m', 'other'],
    dialect: { maxTokensField: 'MaxCompletionTokens' },
    models: [{ name: 'm', dialect: { maxTokensField: 'MaxTokens' } }],
  });
  for (const model of ['m', 'other']) await (await gateway.post('/messages', { ...messages, model })).text();
  const sent = chat.requests.map(({ body }) => JSON.parse(body.toString()));
  expect(sent).toMatchObject([{ max_tokens: 9 }, { max_completion_tokens: 9 }]);
});

test('only what means the same goes to the node in the headers', async () => {
  await gateway.post('/messages', messages, {
    headers: {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'x',
      traceparent: '00-1-2-00',
      'idempotency-key': 'k',
      cookie: 'c',
    },
  });
  const headers = chat.requests[0]?.headers ?? {};
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    traceparent: '00-1-2-00',
    'idempotency-key': expect.stringMatching(/^mg-/),
  });
  expect(Object.keys(headers)).not.toContain('anthropic-version');
  expect(Object.keys(headers)).not.toContain('anthropic-beta');
  expect(JSON.stringify(headers)).not.toContain(gateway.key);
});
