import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';
import { readMessagesStream } from './grammar/messages.ts';
import { readResponsesStream } from './grammar/responses.ts';

let gateway: GatewayUnderTest;
let first: ScriptedUpstream;
let second: ScriptedUpstream;

/** Only where a node falls silent: a busy machine may take longer than this, too. */
const timeouts = { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 10 };
const eventStream = { 'content-type': 'text/event-stream' };
const bodies = {
  '/messages': { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  '/responses': { model: 'm', input: 'Hello' },
  '/completions': { model: 'm', prompt: 'Hello' },
} as const;
type Path = keyof typeof bodies;
const everyPath: readonly Path[] = ['/messages', '/responses', '/completions'];
const ask = (path: Path, stream = false) => gateway.post(path, { ...bodies[path], stream });

beforeEach(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 60 } });
  first = await gateway.addNode('first', { spec: firstSpec });
  second = await gateway.addNode('second', { spec: { priority: 10 } });
});
afterEach(() => gateway.close());

const firstSpec = { priority: 90, dialect: { maxTokensField: 'MaxCompletionTokens' } } as const;
function firstFails(behaviour: Behaviour): void {
  if (behaviour.kind.startsWith('hang')) {
    gateway.setNode('first', { baseURL: first.url, manualModels: ['m'], ...firstSpec, timeouts });
  }
  first.respondWith('/chat/completions', behaviour);
}

/** What the standard answer is, told whole. */
const whole = [{ type: 'text', text: 'w0 w1 w2 w3 w4 ', citations: null }];
const role =
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n';

const failures: readonly (readonly [name: string, behaviour: Behaviour])[] = [
  ['connection refused', { kind: 'refuse' }],
  ['reset before the head', { kind: 'resetBeforeHead' }],
  ['reset after the head', { kind: 'resetAfterHead' }],
  ['silence', { kind: 'hang' }],
  ['silence after the head', { kind: 'hangAfterHead' }],
  ['a redirect', { kind: 'redirect', location: 'http://127.0.0.1:1/' }],
  ['half a body', { kind: 'shortBody' }],
  ['an empty body', { kind: 'answer', headers: eventStream, body: '' }],
  ['HTML', { kind: 'answer', headers: { 'content-type': 'text/html' }, body: '<html>hi</html>' }],
  ['another JSON', { kind: 'answer', body: { hello: 1 } }],
  ['an error with status 200', { kind: 'answer', body: { error: { message: 'no', code: 500 } } }],
  ['a body that is compressed', { kind: 'answer', headers: { 'content-encoding': 'gzip' }, body: 'x' }],
  ['an error event', { kind: 'answer', headers: eventStream, body: 'data: {"error":{"message":"no"}}\n\n' }],
  [
    'an error event after the role',
    { kind: 'answer', headers: eventStream, body: `${role}data: {"error":{"message":"no"}}\n\n` },
  ],
  ['an end after the role', { kind: 'answer', headers: eventStream, body: role }],
  ['comments alone', { kind: 'answer', headers: eventStream, body: ': hi\n\n' }],
  ['[DONE] alone', { kind: 'answer', headers: eventStream, body: 'data: [DONE]\n\n' }],
  ...[401, 403, 408, 409, 429, 500, 503].map(
    (status) => [`status ${status}`, { kind: 'answer', status, body: { error: { message: 'no' } } }] as const,
  ),
];

describe.each(failures)('%s', (_name, behaviour) => {
  test('the next node answers, converted for it, unseen by the caller', async () => {
    firstFails(behaviour);
    for (const stream of [false, true]) {
      const answer = await ask('/messages', stream);
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text).not.toContain('"no"');
      expect(text).toContain('w4');
      if (stream) expect(readMessagesStream(text)).toMatchObject({ content: whole });
    }
    const [asked] = first.requestsTo('/chat/completions');
    expect(JSON.parse(asked?.body.toString() ?? '')).toMatchObject({ max_completion_tokens: 9 });
    for (const { body } of second.requestsTo('/chat/completions')) {
      expect(JSON.parse(body.toString())).toMatchObject({ max_tokens: 9 });
      expect(body.toString()).not.toContain('max_completion_tokens');
    }
  });
});

test.each(everyPath)('%s: what every node refuses is told in the format of the caller', async (path) => {
  const answer = {
    kind: 'answer',
    status: 404,
    body: { error: { message: 'no such http://x/ model' } },
  } as const;
  first.respondWith('/chat/completions', answer);
  for (const stream of [false, true]) {
    const got = await ask(path, stream);
    expect(got.status).toBe(404);
    expect(got.headers.get('x-model-gateway-conversion')).toBe(`${path.slice(1)}->chat`);
    expect(got.headers.get('x-model-gateway-node')).toBe('default/first');
    const error = { message: 'no such [address] model' };
    expect(await got.json()).toMatchObject(
      path === '/messages'
        ? { type: 'error', error: { ...error, type: 'not_found_error' }, request_id: expect.any(String) }
        : { error: { ...error, type: 'invalid_request_error', code: 'model_not_found' } },
    );
  }
  expect(second.requests).toHaveLength(0);
});

test('after the last failure the caller gets it, with the headers that matter', async () => {
  first.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  second.respondWith('/chat/completions', {
    kind: 'answer',
    status: 429,
    headers: { 'retry-after': '7', server: 'secret' },
    body: [{ error: { message: 'slow down', code: 429, status: 'RESOURCE_EXHAUSTED' } }],
  });
  const answer = await ask('/messages');
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe('7');
  expect(answer.headers.get('server')).toBeNull();
  expect(await answer.json()).toMatchObject({ error: { type: 'rate_limit_error', message: 'slow down' } });
  // Retry-After opens the circuit, here as for requests that are passed through.
  expect(gateway.gateway.openCircuits()).toBe(1);
});

test('the credential’s own failure is not the caller’s', async () => {
  for (const node of [first, second])
    node.respondWith('/chat/completions', {
      kind: 'answer',
      status: 401,
      body: { error: { message: 'sk-1' } },
    });
  const answer = await ask('/responses');
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('credential') } });
});

test.each<Behaviour>([
  { kind: 'resetMidStream', chunks: 2 },
  { kind: 'endMidStream', chunks: 2 },
  { kind: 'hangMidStream', chunks: 2 },
  { kind: 'errorInStream', chunks: 2, error: { message: 'broken', code: 'server_error' } },
])('a stream that breaks after content ends as its format says: %o', async (behaviour) => {
  firstFails(behaviour);
  const messages = await (await ask('/messages', true)).text();
  expect(() => readMessagesStream(messages)).toThrow();
  expect(readMessagesStream(messages, { mayBeCut: true })).toBeDefined();
  expect(messages).toMatch(/event: error\ndata: \{"type":"error".*\n\n$/);
  expect(messages).not.toMatch(/message_delta|message_stop/);
  const responses = await (await ask('/responses', true)).text();
  const transcript = readResponsesStream(responses);
  expect(transcript.problems).toEqual([]);
  expect(transcript.response).toMatchObject({ status: 'failed' });
  expect(responses).toContain('event: error\n');
  const completions = await (await ask('/completions', true)).text();
  expect(completions).toMatch(/data: \{"error":.*\n\n$/);
  expect(completions).not.toContain('[DONE]');
  expect(second.requests).toHaveLength(0);
});

describe('between a node of the format and one that is converted for', () => {
  const all = ['Responses', 'Messages', 'Completions'];

  test.each(everyPath)('%s: native, then converted', async (path) => {
    gateway.setNode('first', { baseURL: first.url, manualModels: ['m'], priority: 90, nativeFormats: all });
    first.respondWith(path, { kind: 'answer', status: 503, body: {} });
    for (const stream of [false, true]) {
      const answer = await ask(path, stream);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-model-gateway-conversion')).toBe(`${path.slice(1)}->chat`);
      expect(await answer.text()).toContain('w4');
    }
    expect(second.requestsTo('/chat/completions')).toHaveLength(2);
  });

  test.each(everyPath)('%s: converted, then native', async (path) => {
    gateway.setNode('second', { baseURL: second.url, manualModels: ['m'], priority: 10, nativeFormats: all });
    first.respondWith('/chat/completions', { kind: 'answer', status: 503, body: {} });
    for (const stream of [false, true]) {
      const answer = await ask(path, stream);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-model-gateway-conversion')).toBeNull();
      expect(answer.headers.get('x-model-gateway-attempts')).toBe('2');
      expect(await answer.text()).toContain('w4');
    }
    expect(second.requestsTo(path)).toHaveLength(2);
    expect(second.requestsTo(path)[0]?.body.toString()).toBe(
      JSON.stringify({ ...bodies[path], stream: false }),
    );
  });

  test.each(everyPath)('%s: native with keep-alives, then converted', async (path) => {
    gateway.setNode('first', { baseURL: first.url, manualModels: ['m'], priority: 90, nativeFormats: all });
    first.respondWith(path, { kind: 'slowFirstByte', milliseconds: 200, next: { kind: 'resetBeforeHead' } });
    const text = await (await ask(path, true)).text();
    expect(text).toMatch(/^: keepalive\n\n/);
    const events = text.replaceAll(': keepalive\n\n', '');
    expect(events).toContain('w4');
    if (path === '/messages') expect(readMessagesStream(events).content).toEqual(whole);
    if (path === '/responses') expect(readResponsesStream(events).problems).toEqual([]);
  });

  test.each(everyPath)(
    '%s: once a converted stream has begun, later nodes are converted for',
    async (path) => {
      gateway.setNode('second', {
        baseURL: second.url,
        manualModels: ['m'],
        priority: 10,
        nativeFormats: all,
      });
      first.respondWith('/chat/completions', {
        kind: 'slowFirstByte',
        milliseconds: 200,
        next: { kind: 'resetBeforeHead' },
      });
      const text = await (await ask(path, true)).text();
      expect(text).toContain('w4');
      expect(second.requestsTo('/chat/completions')).toHaveLength(1);
      if (path === '/messages') expect(readMessagesStream(text).content).toEqual(whole);
      if (path === '/responses') expect(readResponsesStream(text).problems).toEqual([]);
    },
  );
});

describe('keep-alives before content', () => {
  const slowFailure: Behaviour = {
    kind: 'slowFirstByte',
    milliseconds: 200,
    next: { kind: 'answer', status: 503, body: { error: { message: 'overloaded' } } },
  };

  test('messages: pings after message_start, and the next node goes on with it', async () => {
    first.respondWith('/chat/completions', slowFailure);
    const answer = await ask('/messages', true);
    expect(answer.headers.get('x-model-gateway-conversion')).toBe('messages->chat');
    expect(answer.headers.get('x-model-gateway-node')).toBeNull();
    const text = await answer.text();
    expect(text).toMatch(/^event: message_start\n[^\n]*\n\nevent: ping\n/);
    expect(text.match(/event: message_start/g)).toHaveLength(1);
    expect(readMessagesStream(text).content).toEqual(whole);
  });

  test('responses: the response is opened, and the next node goes on with its numbers', async () => {
    first.respondWith('/chat/completions', slowFailure);
    const text = await (await ask('/responses', true)).text();
    expect(text).toContain(': keepalive');
    const { problems, response } = readResponsesStream(text);
    expect(problems).toEqual([]);
    expect(response).toMatchObject({ status: 'completed' });
  });

  test.each(everyPath)('%s: when every node fails, the stream that has begun says so', async (path) => {
    for (const node of [first, second]) node.respondWith('/chat/completions', slowFailure);
    const answer = await ask(path, true);
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toContain('overloaded');
    expect(text).not.toMatch(/message_stop|response\.completed/);
    if (path === '/messages') expect(readMessagesStream(text, { mayBeCut: true })).toBeDefined();
    if (path === '/responses') expect(readResponsesStream(text).problems).toEqual([]);
    if (path === '/completions') expect(text).not.toContain('[DONE]');
  });

  test('silence after content is filled too', async () => {
    firstFails({ kind: 'hangMidStream', chunks: 1 });
    const answer = await ask('/messages', true);
    await delay(10);
    const text = await answer.text();
    expect(text.slice(text.indexOf('w0'))).toContain('event: ping');
  });
});

test('a 400 is not tried elsewhere, and opens no circuit', async () => {
  first.respondWith('/chat/completions', {
    kind: 'answer',
    status: 400,
    body: { error: { message: 'bad' } },
  });
  for (let i = 0; i < 6; i++) expect((await ask('/responses')).status).toBe(400);
  expect(second.requests).toHaveLength(0);
  expect(gateway.gateway.openCircuits()).toBe(0);
});

test('five broken answers open the circuit', async () => {
  first.respondWith('/chat/completions', { kind: 'answer', body: 'no JSON' });
  for (let i = 0; i < 7; i++) expect((await ask('/messages')).status).toBe(200);
  expect(first.requests).toHaveLength(5);
});
