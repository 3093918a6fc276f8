import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
let chat: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway();
  upstream = await gateway.addNode('n', {
    spec: { nativeFormats: ['Messages'], headers: [{ name: 'x-own', value: 'node' }] },
    upstream: {
      headers: {
        'x-ratelimit-limit-requests': '9',
        'anthropic-ratelimit-tokens-remaining': '8',
        'openai-processing-ms': '7',
        'set-cookie': 'a=b',
        'x-internal': 'secret',
        server: 'secret',
      },
    },
  });
});
beforeAll(async () => {
  chat = await gateway.addNode('chat', {
    spec: { manualModels: ['converted'] },
    upstream: { models: ['converted'] },
  });
});
afterAll(() => gateway.close());

const call = (headers: Record<string, string>, path = '/chat/completions') =>
  fetch(`${gateway.baseURL}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"model":"m","messages":[]}',
  });

describe('the key', () => {
  test('by Bearer, by x-api-key; Bearer wins', async () => {
    const { key } = gateway;
    const statuses = await Promise.all(
      [
        { authorization: `Bearer ${key}` },
        { authorization: `bearer ${key}` },
        { 'x-api-key': key },
        { authorization: 'Basic eDp5', 'x-api-key': key },
        { authorization: `Bearer ${key}`, 'x-api-key': 'wrong' },
        { authorization: 'Bearer wrong', 'x-api-key': key },
        {},
      ].map(async (headers) => (await call(headers as Record<string, string>)).status),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200, 401, 401]);
  });

  test('each reason for a 401 is told, in both shapes', async () => {
    const cases: [string | undefined, RegExp][] = [
      [undefined, /No API key was sent/],
      ['x'.repeat(40), /not valid/],
      [`${gateway.key.slice(0, -1)}${gateway.key.endsWith('0') ? '1' : '0'}`, /mistyped/],
      [gateway.key.slice(0, -2), /mistyped/],
      [gateway.addKey({ enabled: false }), /disabled/],
      [gateway.addKey({ expirationTime: '2020-01-01T00:00:00Z' }), /expired/],
      [gateway.addKey({}, { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }), /not valid/],
    ];
    for (const [key, words] of cases) {
      for (const path of ['/chat/completions', '/messages']) {
        const answer = await call(key === undefined ? {} : { authorization: `Bearer ${key}` }, path);
        expect(answer.status).toBe(401);
        const body = (await answer.json()) as { error: { message: string; type: string; code?: string } };
        expect(body.error).toMatchObject({
          type: 'authentication_error',
          message: expect.stringMatching(words),
        });
        if (path === '/chat/completions') expect(body.error.code).toBe('invalid_api_key');
        if (key !== undefined) expect(JSON.stringify(body)).not.toContain(key.slice(6, 30));
      }
    }
  });

  test('of the wrong kind: 403', async () => {
    const master = gateway.addKey({}, { kind: 'MasterKey' });
    const answer = await call({ authorization: `Bearer ${master}` });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: { code: 'wrong_key_kind', type: 'permission_error' },
    });
    const keys = await fetch(`${gateway.baseURL}/keys`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    expect(keys.status).toBe(403);
  });

  test('the allowlist is judged by the name sent, before existence', async () => {
    const limited = gateway.addKey({ models: ['other', 'gone'] });
    const send = (model: string, more = '') =>
      fetch(`${gateway.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${limited}`, 'content-type': 'application/json' },
        body: `{"model":"${model}"${more}}`,
      });
    expect((await send('m')).status).toBe(403);
    expect((await send('unknown')).status).toBe(403);
    expect((await send('gone')).status).toBe(404);
    expect((await send('gone', ',"fallbacks":["m"]')).status).toBe(400);
  });
});

test('only the headers of the list and the node’s own are sent to the node', async () => {
  const passing = {
    accept: 'text/x',
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'a,b',
    'openai-beta': 'c',
    traceparent: '00-1-2-01',
    tracestate: 'e=f',
  };
  await call({
    ...passing,
    authorization: `Bearer ${gateway.key}`,
    'x-api-key': 'caller',
    cookie: 'a=b',
    'x-own': 'caller',
    'x-forwarded-for': '1.2.3.4',
    'openai-organization': 'org',
    'user-agent': 'caller',
  });
  const { headers } = upstream.requests.at(-1) ?? { headers: {} };
  expect(headers).toEqual({
    ...passing,
    'content-type': 'application/json',
    'x-own': 'node',
    'accept-encoding': 'identity',
    'user-agent': 'model-gateway',
    'x-model-gateway-hops': '1',
    host: `127.0.0.1:${upstream.port}`,
    connection: 'keep-alive',
    'content-length': '27',
  });
  await call({ authorization: `Bearer ${gateway.key}` }, '/messages');
  expect(upstream.requests.at(-1)?.headers['anthropic-version']).toBe('2023-06-01');
});

describe('an idempotency key', () => {
  const sentBy = async (key: string, path: string, more: object) => {
    await call({ authorization: `Bearer ${key}`, 'idempotency-key': 'order-1' }, path);
    const passed = upstream.requests.at(-1)?.headers['idempotency-key'];
    await fetch(`${gateway.baseURL}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'order-1',
      },
      body: JSON.stringify({ model: 'converted', messages: [], max_tokens: 1, ...more }),
    });
    const converted = chat.requests.at(-1)?.headers['idempotency-key'];
    return { passed, converted };
  };

  test('is sent to the node as a hash for that API key, the same each time', async () => {
    const other = gateway.addKey();
    const paths = [
      ['/chat/completions', {}],
      ['/messages', { messages: [{ role: 'user', content: 'x' }] }],
    ] as const;
    const seen: unknown[] = [];
    for (const [path, more] of paths) {
      for (const key of [gateway.key, other, gateway.key]) {
        const { passed, converted } = await sentBy(key, path, more);
        expect(passed).toMatch(/^mg-[\w-]{43}$/);
        expect(converted).toBe(passed);
        seen.push(passed);
      }
    }
    const [mine, theirs] = seen;
    expect(theirs).not.toBe(mine);
    expect(seen).toEqual([mine, theirs, mine, mine, theirs, mine]);
  });
});

test('back come the headers of the list and the gateway’s own', async () => {
  for (const stream of [false, true]) {
    const answer = await gateway.post('/messages', { model: 'm', messages: [], max_tokens: 1, stream });
    await answer.text();
    const names = [...answer.headers.keys()].filter(
      (name) => !['date', 'connection', 'keep-alive'].includes(name),
    );
    expect(names.sort()).toEqual(
      [
        'anthropic-ratelimit-tokens-remaining',
        'content-type',
        'openai-processing-ms',
        'request-id',
        'x-model-gateway-attempts',
        'x-model-gateway-node',
        'x-ratelimit-limit-requests',
        'x-request-id',
        ...(stream ? ['cache-control', 'transfer-encoding', 'x-accel-buffering'] : ['content-length']),
      ].sort(),
    );
    expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
  }
});

test('every answer of the gateway’s own has a request id', async () => {
  for (const path of ['/chat/completions', '/nothing', '/models']) {
    const answer = await fetch(`${gateway.baseURL}${path}`, { method: path === '/models' ? 'GET' : 'POST' });
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  }
});

test('two request ids do not say how many requests came in between', async () => {
  const idOf = async () => (await call({})).headers.get('x-request-id') ?? '';
  const ids = [await idOf(), await idOf(), await idOf()];
  expect(new Set(ids.map((id) => id.slice(0, 12))).size).toBe(3);
});
