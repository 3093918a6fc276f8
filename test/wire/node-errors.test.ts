import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 60 } });
  upstream = await gateway.addNode('n', { spec: { nativeFormats: ['Messages', 'Responses'] } });
});
afterAll(() => gateway.close());

const ask = (path: string, stream = false) =>
  gateway.post(path, { model: 'm', max_tokens: 1, messages: [], input: 'x', stream });
const fails = (status: number, body: unknown, headers: Record<string, string> = {}) => {
  upstream.respondWith('*', { kind: 'answer', status, body, headers });
};

describe('what the family of the caller reads goes out byte for byte, with its status', () => {
  test.each<[string, number, string]>([
    ['/chat/completions', 400, '{"error": {"message":"no",  "code":7}}'],
    ['/chat/completions', 529, '{"error":{"message":"busy","type":"odd"}}'],
    ['/responses', 404, '{"error":{"message":"no such model"},"more":1}'],
    ['/messages', 422, '{"type":"error","error":{"type":"odd_error","message":"no"},"request_id":"theirs"}'],
  ])('%s %i', async (path, status, body) => {
    fails(status, body);
    for (const stream of [false, true]) {
      const answer = await ask(path, stream);
      expect([answer.status, await answer.text()]).toEqual([status, body]);
    }
  });
});

const bodies: readonly (readonly [name: string, body: unknown, words: string])[] = [
  ['vLLM’s', { object: 'error', message: 'no tools', type: 'BadRequestError', code: 400 }, 'no tools'],
  ['FastAPI’s', { detail: 'no body' }, 'no body'],
  [
    'FastAPI’s list',
    { detail: [{ loc: ['body', 'messages', 0], msg: 'missing' }] },
    'body.messages.0: missing',
  ],
  ['Google’s', [{ error: { code: 400, message: 'no key', status: 'INVALID_ARGUMENT' } }], 'no key'],
  ['a text', { error: 'model not loaded' }, 'model not loaded'],
  ['HTML', '<html>go away</html>', 'The model server answered 400 Bad Request'],
  ['nothing', '', 'The model server answered 400 Bad Request'],
  ['an address', { detail: 'http://10.0.0.7:8000 refused' }, '[address] refused'],
];

describe.each(bodies)('%s', (_name, body, message) => {
  test('is told in OpenAI’s shape', async () => {
    fails(400, body);
    for (const path of ['/chat/completions', '/responses']) {
      const answer = await ask(path);
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('x-model-gateway-node')).toBe('default/n');
      expect(await answer.json()).toMatchObject({
        error: { message, type: 'invalid_request_error', param: null },
      });
    }
  });

  test('is told in Anthropic’s shape', async () => {
    fails(400, body);
    const answer = await ask('/messages');
    const requestId = answer.headers.get('request-id');
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message }, request_id: requestId },
    ]);
  });
});

test('the other family’s shape is put into the caller’s', async () => {
  fails(400, { error: { message: 'no', code: 'context_length_exceeded' } });
  expect(await (await ask('/messages')).json()).toMatchObject({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: no' },
  });
});

test('a body in an encoding that nobody asked for is not passed on', async () => {
  fails(400, '{"error":{"message":"no"}}', { 'content-encoding': 'gzip' });
  const answer = await ask('/chat/completions');
  expect(answer.headers.get('content-encoding')).toBeNull();
  expect(await answer.json()).toMatchObject({
    error: { message: 'The model server answered 400 Bad Request' },
  });
});

test('retry headers pass with a body in other words', async () => {
  fails(429, 'slow down', { 'retry-after-ms': '1' });
  const answer = await ask('/chat/completions');
  expect([answer.status, answer.headers.get('retry-after-ms')]).toEqual([429, '1']);
  expect(await answer.json()).toMatchObject({
    error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  });
});

test.each([
  ['/chat/completions', /^data: \{"error":\{"message":"too hot","type":"invalid_request_error".*\n\n$/],
  [
    '/messages',
    /^event: error\ndata: \{"type":"error","error":\{"type":"invalid_request_error","message":"too hot"/,
  ],
  [
    '/responses',
    /^event: error\ndata: .*"message":"too hot".*\n\nevent: response.failed\ndata: .*"message":"too hot"/,
  ],
])('%s: after keep-alives the stream ends with the node’s message', async (path, words) => {
  upstream.respondWith('*', {
    kind: 'slowFirstByte',
    milliseconds: 150,
    next: { kind: 'answer', status: 400, body: { detail: 'too hot' } },
  });
  const answer = await ask(path, true);
  expect(answer.status).toBe(200);
  expect((await answer.text()).replaceAll(': keepalive\n\n', '')).toMatch(words);
});
