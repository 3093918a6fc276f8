import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;
let first: ScriptedUpstream;
let second: ScriptedUpstream;

/** Only where a node falls silent: a busy machine may take longer than this, too. */
const timeouts = { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 10 };

beforeEach(async () => {
  gateway = await startGateway();
  first = await gateway.addNode('first', { spec: { priority: 90 } });
  second = await gateway.addNode('second', { spec: { priority: 10 } });
});
afterEach(() => gateway.close());

function fails(name: 'first' | 'second', behaviour: Behaviour): void {
  const [upstream, priority] = name === 'first' ? [first, 90] : [second, 10];
  if (behaviour.kind.startsWith('hang')) {
    gateway.setNode(name, { baseURL: upstream.url, manualModels: ['m'], priority, timeouts });
  }
  upstream.respondWith('/chat/completions', behaviour);
}

const ask = (stream = false) => gateway.post('/chat/completions', { model: 'm', messages: [], stream });

const failures: readonly (readonly [name: string, behaviour: Behaviour])[] = [
  ['connection refused after a reset', { kind: 'refuse' }],
  ['reset before the head', { kind: 'resetBeforeHead' }],
  ['closed before the head', { kind: 'closeBeforeHead' }],
  ['reset after the head', { kind: 'resetAfterHead', headers: { 'content-type': 'application/json' } }],
  ['not HTTP', { kind: 'raw', bytes: 'hello\r\n\r\n' }],
  ['endless headers', { kind: 'endlessHeaders' }],
  ['no first byte', { kind: 'hang' }],
  ['a redirect', { kind: 'redirect', location: 'http://127.0.0.1:1/' }],
  ...[401, 403, 408, 409, 429, 500, 502, 503, 504, 529].map(
    (status) =>
      [`status ${status}`, { kind: 'answer', status, body: { error: { message: 'first' } } }] as const,
  ),
];

describe.each(failures)('%s', (_name, behaviour) => {
  test('the next node answers, unseen by the caller', async () => {
    fails('first', behaviour);
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-model-gateway-node')).toBe('default/second');
    expect(answer.headers.get('x-model-gateway-attempts')).toBe('2');
    await answer.json();
    const stream = await ask(true);
    expect(stream.status).toBe(200);
    expect(await stream.text()).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s);
    if ('status' in behaviour && behaviour.status !== 401) return;
    expect(second.requestsTo('/chat/completions')).toHaveLength(2);
  });
});

describe('a stream before its first content', () => {
  const eventStream = { 'content-type': 'text/event-stream' };
  const role =
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n';
  test.each<[string, Behaviour]>([
    ['reset after the head', { kind: 'resetAfterHead' }],
    ['silence after the head', { kind: 'hangAfterHead' }],
    [
      'an error event',
      { kind: 'answer', headers: eventStream, body: 'data: {"error":{"message":"no","code":500}}\n\n' },
    ],
    [
      'an error event after the role',
      { kind: 'answer', headers: eventStream, body: `${role}data: {"error":"no"}\n\n` },
    ],
    ['an end after the role', { kind: 'answer', headers: eventStream, body: role }],
    ['comments alone', { kind: 'answer', headers: eventStream, body: ': hi\n\n' }],
    ['[DONE] alone', { kind: 'answer', headers: eventStream, body: 'data: [DONE]\n\n' }],
    ['an empty body', { kind: 'answer', headers: eventStream, body: '' }],
  ])('%s: the next node answers', async (_name, behaviour) => {
    fails('first', behaviour);
    const answer = await ask(true);
    expect(answer.headers.get('x-model-gateway-node')).toBe('default/second');
    const text = await answer.text();
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(text).not.toContain('"no"');
  });
});

test.each([400, 402, 404, 410, 413, 422])(
  'status %i is the answer: no other node is asked',
  async (status) => {
    const body = '{"error":{"message":"yours"} }';
    first.respondWith('/chat/completions', { kind: 'answer', status, body });
    for (const stream of [false, true]) {
      const answer = await ask(stream);
      expect(answer.status).toBe(status);
      expect(await answer.text()).toBe(body);
    }
    expect(second.requests).toHaveLength(0);
  },
);

test('after the last failure the caller gets that error, status, body and headers', async () => {
  first.respondWith('/chat/completions', { kind: 'answer', status: 500, body: { error: 1 } });
  second.respondWith('/chat/completions', {
    kind: 'answer',
    status: 429,
    headers: {
      'retry-after': '7',
      'x-should-retry': 'false',
      'x-ratelimit-remaining-tokens': '0',
      server: 'secret',
    },
    body: { error: { message: 'slow down', code: 'rate_limit_exceeded' } },
  });
  const answer = await ask();
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe('7');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(answer.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
  expect(answer.headers.get('server')).toBeNull();
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/second');
  expect(await answer.json()).toEqual({ error: { message: 'slow down', code: 'rate_limit_exceeded' } });
});

test.each<[string, Behaviour, number, string]>([
  [
    'credential refused',
    { kind: 'answer', status: 401, body: { error: { message: 'key sk-1 is bad' } } },
    502,
    'credential',
  ],
  ['reset', { kind: 'resetBeforeHead' }, 502, 'closed'],
  ['no first byte', { kind: 'hang' }, 504, 'first-byte'],
  ['a redirect', { kind: 'redirect', location: 'http://secret.example/' }, 502, 'redirect'],
])('all nodes: %s', async (_name, behaviour, status, words) => {
  fails('first', behaviour);
  fails('second', behaviour);
  const answer = await ask();
  expect(answer.status).toBe(status);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({
    error: { type: 'server_error', message: expect.stringContaining(words) },
  });
  expect(text).not.toMatch(/sk-1|secret|127\.0\.0\.1/);
});

test('an error body without end is not waited for', async () => {
  const endless: Behaviour = {
    kind: 'run',
    run: ({ response }) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.write('{"error":');
    },
  };
  first.respondWith('/chat/completions', endless);
  const started = performance.now();
  expect((await ask()).status).toBe(200);
  expect(performance.now() - started).toBeLessThan(10_000);
  second.respondWith('/chat/completions', { kind: 'endlessBody' });
  second.respondWith('/chat/completions', {
    kind: 'run',
    run: ({ response }) => {
      response.writeHead(503, { 'content-type': 'application/json' });
      response.write('x'.repeat(100_000));
    },
  });
  const answer = await ask();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    error: { message: 'The model server answered 503 Service Unavailable', type: 'server_error' },
  });
});

test('the attempt budget is three nodes', async () => {
  const more = await Promise.all(
    ['third', 'fourth'].map((name) => gateway.addNode(name, { spec: { priority: 5 } })),
  );
  for (const upstream of [first, second, ...more]) {
    upstream.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  }
  const answer = await ask();
  expect(answer.status).toBe(500);
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('3');
});

test('a node that was disabled since the first attempt is not tried', async () => {
  first.respondWith('/chat/completions', {
    kind: 'slowFirstByte',
    milliseconds: 100,
    next: { kind: 'resetBeforeHead' },
  });
  const answer = ask();
  await first.waitFor((requests) => requests.length === 1);
  gateway.setNode('second', { baseURL: second.url, manualModels: ['m'], enabled: false });
  expect((await answer).status).toBe(502);
  expect(second.requests).toHaveLength(0);
});

test('Retry-After opens the circuit at once', async () => {
  first.respondWith('/chat/completions', {
    kind: 'answer',
    status: 429,
    headers: { 'retry-after': '60' },
    body: {},
  });
  await (await ask()).text();
  await (await ask()).text();
  expect(first.requests).toHaveLength(1);
  expect(gateway.gateway.openCircuits()).toBe(1);
});

test('five failures open the circuit; an open circuit is still the last resort', async () => {
  first.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  for (let i = 0; i < 7; i++) await (await ask()).text();
  expect(first.requests).toHaveLength(5);
  second.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  first.respondWith('/chat/completions', { kind: 'well' });
  expect((await ask()).status).toBe(200);
  expect(first.requests).toHaveLength(6);
});

test.each<[string, Record<string, unknown>, { uid?: string }]>([
  ['another address', { baseURL: 'moved' }, {}],
  ['another header', { headers: [{ name: 'x-new', value: '1' }] }, {}],
  ['made anew', {}, { uid: 'another' }],
])('a node with an open circuit that was mended serves at once: %s', async (_name, spec, metadata) => {
  first.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  for (let i = 0; i < 5; i++) await (await ask()).text();
  const same = { baseURL: first.url, manualModels: ['m'], priority: 90 };
  first.respondWith('/chat/completions', { kind: 'well' });
  // What people change otherwise, and each health check, says nothing of how the node fares.
  gateway.setNode('first', { ...same, displayName: 'renamed' });
  gateway.setNode('first', same, { status: { phase: 'ready' } });
  expect(gateway.gateway.openCircuits()).toBe(1);
  const moved = 'baseURL' in spec ? { baseURL: first.url.replace('127.0.0.1', 'localhost') } : spec;
  gateway.setNode('first', { ...same, ...moved }, { metadata });
  expect(gateway.gateway.openCircuits()).toBe(0);
  expect((await ask()).headers.get('x-model-gateway-node')).toBe('default/first');
});

test('a connection that the node closed while it was idle costs no attempt', async () => {
  first.respondWith('/chat/completions', [{ kind: 'closeAfterAnswer', afterMilliseconds: 30 }]);
  await (await ask()).text();
  await delay(60);
  const answer = await ask();
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/first');
  expect(answer.headers.get('x-model-gateway-attempts')).toBe('1');
});

test('a stream that breaks after content is not tried elsewhere; the error comes in the stream', async () => {
  for (const behaviour of [
    { kind: 'resetMidStream', chunks: 2 },
    { kind: 'endMidStream', chunks: 2 },
    { kind: 'hangMidStream', chunks: 2 },
  ] as const) {
    fails('first', behaviour);
    const answer = await ask(true);
    expect(answer.status).toBe(200);
    const events = (await answer.text()).trim().split('\n\n');
    expect(events).toHaveLength(3);
    expect(JSON.parse(events[2]?.replace('data: ', '') ?? '')).toMatchObject({
      error: { type: 'server_error' },
    });
  }
  expect(second.requests).toHaveLength(0);
});

test('a plain answer that breaks after its first byte breaks off', async () => {
  first.respondWith('/chat/completions', { kind: 'shortBody' });
  const answer = await ask();
  expect(answer.status).toBe(200);
  await expect(answer.text()).rejects.toThrow();
  expect(second.requests).toHaveLength(0);
});
