import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 60 } });
  upstream = await gateway.addNode('n', {
    spec: { nativeFormats: ['Messages', 'Responses', 'Completions'] },
  });
});
afterEach(() => gateway.close());

const eventStream = { 'content-type': 'text/event-stream' };
const ask = (path = '/chat/completions') => gateway.post(path, { model: 'm', messages: [], stream: true });

/** Writes the pieces, waiting between them; then ends unless `open`. */
function pieces(parts: readonly (string | number)[], open = false): Behaviour {
  return {
    kind: 'run',
    run: async ({ response }) => {
      response.writeHead(200, eventStream);
      response.flushHeaders();
      for (const part of parts) {
        if (typeof part === 'number') await delay(part);
        else response.write(part);
      }
      if (!open) response.end();
    },
  };
}

const chunk = (text: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`;
const done = 'data: [DONE]\n\n';

test('a stream has the headers of one, and the node in them', async () => {
  const answer = await ask();
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  expect(answer.headers.get('x-accel-buffering')).toBe('no');
  expect(answer.headers.get('content-length')).toBeNull();
  expect(answer.headers.get('x-model-gateway-node')).toBe('default/n');
  await answer.text();
});

test.each(['/chat/completions', '/completions', '/responses', '/messages'])(
  '%s: the bytes are the node’s',
  async (path) => {
    let sent = '';
    const body = JSON.stringify({
      model: 'm',
      messages: [],
      stream: true,
      max_tokens: 9,
      input: 'x',
      prompt: 'x',
    });
    const direct = await fetch(`${upstream.url}${path}`, { method: 'POST', body });
    sent = await direct.text();
    const answer = await gateway.post(path, body);
    const normal = (text: string) => text.replace(/"created(_at)?":\d+/g, '');
    expect(normal(await answer.text())).toBe(normal(sent));
    expect(sent.length).toBeGreaterThan(100);
  },
);

test('events pass as they come, not when the stream ends', async () => {
  upstream.respondWith('/chat/completions', pieces([chunk('a'), 30, chunk('b')], true));
  const answer = await ask();
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(chunk('a'));
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(chunk('b'));
  await reader.cancel();
});

/** A request for a stream as it goes over the wire. */
function request(version: string): string {
  const body = JSON.stringify({ model: 'm', messages: [], stream: true });
  const head = [
    ...[`POST /v1/chat/completions ${version}`, 'host: x', `authorization: Bearer ${gateway.key}`],
    ...['content-type: application/json', `content-length: ${body.length}`, 'connection: close'],
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

describe('pieces of every size', () => {
  // Sizes of a chunk take another digit at 16, 256 and 4,096 bytes; small pieces go another way than large ones.
  const sizes = [1, 15, 16, 255, 256, 4095, 4096, 16_384, 16_385, 70_000, 2];
  const events = sizes.map((size) => `data: ${'x'.repeat(size)}\n\n`);

  test.each(['one by one', 'all at once'])('HTTP/1.1: whole chunks and nothing else, %s', async (way) => {
    const parts = way === 'one by one' ? events.flatMap((event) => [event, 20]) : [events.join('')];
    upstream.respondWith('/chat/completions', pieces([chunk('a'), 20, ...parts, done]));
    const answer = await rawExchange(gateway.port, request('HTTP/1.1'));
    const [head = ''] = answer.split('\r\n\r\n', 1);
    expect(head).toMatch(/transfer-encoding: chunked/i);
    expect(fromChunks(answer.slice(head.length + 4))).toBe(chunk('a') + events.join('') + done);
  });

  test('HTTP/1.0: no chunks', async () => {
    upstream.respondWith('/chat/completions', pieces([chunk('a'), ...events.flatMap((e) => [20, e]), done]));
    const answer = await rawExchange(gateway.port, request('HTTP/1.0'));
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(chunk('a') + events.join('') + done);
  });
});

/** The body of a chunked answer (RFC 9112, section 7.1); throws where it is not one, to its last byte. */
function fromChunks(text: string): string {
  let body = '';
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n', at);
    const digits = text.slice(at, end);
    const [from, to] = [end + 2, end + 2 + Number.parseInt(digits, 16)];
    if (!/^[\da-f]+$/.test(digits) || text.slice(to, to + 2) !== '\r\n') throw new Error(`no chunk at ${at}`);
    body += text.slice(from, to);
    at = to + 2;
    if (from === to && at === text.length) return body;
    if (from === to) throw new Error(`after the last chunk: ${text.slice(at)}`);
  }
}

describe('keep-alives', () => {
  test('before the head: the stream begins without node headers, and ends well', async () => {
    upstream.respondWith('/chat/completions', { kind: 'slowFirstByte', milliseconds: 300 });
    const answer = await ask();
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('x-model-gateway-node')).toBeNull();
    expect(answer.headers.get('x-request-id')).not.toBeNull();
    expect(await answer.text()).toMatch(/^(: keepalive\n\n){2,}data: .*data: \[DONE\]\n\n$/s);
  });

  test('between events, never within one', async () => {
    const [start, rest] = [chunk('split').slice(0, 20), chunk('split').slice(20)];
    upstream.respondWith('/chat/completions', pieces([chunk('a'), 250, start, 250, rest, 250, done]));
    const text = await (await ask()).text();
    const [before, after = ''] = text.split(`${start}${rest}`);
    expect(before?.replace(/(: keepalive\n\n)+$/, 'kept alive')).toBe(`${chunk('a')}kept alive`);
    expect(after.replace(/^(: keepalive\n\n)+/, 'kept alive ')).toBe(`kept alive ${done}`);
  });

  test('the node’s own comments do not count while they are held back', async () => {
    upstream.respondWith(
      '/chat/completions',
      pieces([...Array.from({ length: 5 }, () => [': hi\n\n', 50]).flat(), chunk('a'), done]),
    );
    const text = await (await ask()).text();
    expect(text.replace(/^(: keepalive\n\n)+/, 'kept alive ')).toBe(
      `kept alive ${': hi\n\n'.repeat(5)}${chunk('a')}${done}`,
    );
  });

  test('without a blank line where the stream uses ids', async () => {
    upstream.respondWith('/chat/completions', pieces([`id: 1\n${chunk('a')}`, 250, done]));
    const text = await (await ask()).text();
    expect(text.replace(/(: keepalive\n)+/, 'kept alive ')).toBe(`id: 1\n${chunk('a')}kept alive ${done}`);
  });

  test.each([
    ['HTTP/1.1', 'd\r\n: keepalive\n\n\r\n'],
    ['HTTP/1.0', ': keepalive\n\n'],
  ])('%s: in chunks where the answer has chunks', async (version, comment) => {
    upstream.respondWith('/chat/completions', pieces([chunk('a'), 350, done]));
    const answer = await rawExchange(gateway.port, request(version));
    const [before = '', ...rest] = answer.split(comment.repeat(3));
    expect(before).toContain(chunk('a'));
    expect(rest.length).toBeGreaterThan(0);
    expect(rest.join('').replaceAll(comment, '')).toBe(
      version === 'HTTP/1.1' ? `e\r\n${done}\r\n0\r\n\r\n` : done,
    );
  });

  test.each<[string, Behaviour]>([
    ['a reset', { kind: 'resetBeforeHead' }],
    ['no stream', { kind: 'answer', body: { choices: [] } }],
    ['an encoded answer', { kind: 'answer', headers: { 'content-encoding': 'gzip' }, body: { choices: [] } }],
  ])('failover stays possible after them: %s', async (_name, next) => {
    gateway.setNode('n', { baseURL: upstream.url, manualModels: ['m'], priority: 90 });
    const other = await gateway.addNode('other');
    upstream.respondWith('/chat/completions', {
      kind: 'slowFirstByte',
      milliseconds: 250,
      next,
    });
    expect(await (await ask()).text()).toMatch(/^(: keepalive\n\n)+data: .*data: \[DONE\]\n\n$/s);
    expect(other.requests).toHaveLength(1);
  });

  test.each<[string, Behaviour, string]>([
    ['an error status', { kind: 'answer', status: 400, body: { error: { message: 'bad' } } }, 'bad'],
    ['a reset', { kind: 'resetBeforeHead' }, 'closed'],
    ['no stream', { kind: 'answer', body: { choices: [] } }, 'did not answer with a stream'],
    [
      'a stream that was encoded unasked',
      { kind: 'answer', headers: { 'content-encoding': 'gzip' }, body: { choices: [] } },
      'did not answer with a stream',
    ],
  ])('%s comes in the stream after them', async (_name, next, words) => {
    upstream.respondWith('/chat/completions', { kind: 'slowFirstByte', milliseconds: 250, next });
    const answer = await ask();
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toMatch(/^: keepalive\n\n/);
    const [event = '', ...more] = text.replaceAll(': keepalive\n\n', '').trim().split('\n\n');
    expect(JSON.parse(event.slice('data: '.length))).toMatchObject({
      error: { message: expect.stringContaining(words) },
    });
    expect(more).toEqual([]);
  });

  test('an encoding that is none is none', async () => {
    upstream.respondWith('/chat/completions', {
      kind: 'run',
      run: async ({ response }) => {
        await delay(150);
        response.writeHead(200, { ...eventStream, 'content-encoding': 'Identity' });
        response.end(chunk('a') + done);
      },
    });
    expect((await (await ask()).text()).replace(/^(: keepalive\n\n)+/, '')).toBe(chunk('a') + done);
  });

  test('a plain request gets none', async () => {
    upstream.respondWith('/chat/completions', { kind: 'slowFirstByte', milliseconds: 150 });
    const answer = await gateway.post('/chat/completions', { model: 'm', messages: [] });
    await expect(answer.json()).resolves.toMatchObject({ object: 'chat.completion' });
  });
});

describe('a stream that breaks after content ends with an error of its format', () => {
  test('messages', async () => {
    const delta = 'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n';
    upstream.respondWith('/messages', pieces([delta]));
    const text = await (await ask('/messages')).text();
    expect(text.startsWith(delta)).toBe(true);
    const [name, data = ''] = text.slice(delta.length).trimEnd().split('\n');
    expect(name).toBe('event: error');
    expect(JSON.parse(data.slice(6))).toMatchObject({ type: 'error', error: { type: 'api_error' } });
  });

  test('responses, with the id and number that the stream had', async () => {
    const created =
      'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_7","model":"x","created_at":5}}\n\n';
    const delta =
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4}\n\n';
    upstream.respondWith('/responses', pieces([created, delta]));
    const text = await (await ask('/responses')).text();
    const [error = '', failed = ''] = text
      .slice((created + delta).length)
      .trimEnd()
      .split('\n\n');
    expect(error.split('\n')[0]).toBe('event: error');
    expect(JSON.parse(error.split('data: ')[1] ?? '')).toMatchObject({
      type: 'error',
      sequence_number: 5,
      error: { code: 'upstream_error' },
    });
    expect(JSON.parse(failed.split('data: ')[1] ?? '')).toMatchObject({
      type: 'response.failed',
      sequence_number: 6,
      response: {
        id: 'resp_7',
        model: 'x',
        created_at: 5,
        status: 'failed',
        error: { code: 'upstream_error' },
      },
    });
  });

  test('in the middle of an event: of that one nothing is passed on, for clients could not read it', async () => {
    upstream.respondWith('/chat/completions', pieces([chunk('a'), 'data: {"cho']));
    const events = (await (await ask()).text()).trimEnd().split('\n\n');
    expect(events).toHaveLength(2);
    expect(JSON.parse(events[1]?.slice(6) ?? '')).toHaveProperty('error');
  });

  test('not where its last event lacks only the blank line', async () => {
    upstream.respondWith('/chat/completions', pieces([chunk('a'), done.slice(0, -1)]));
    expect(await (await ask()).text()).toBe(chunk('a') + done.slice(0, -1));
  });

  test('not where [DONE] comes without a line end', async () => {
    upstream.respondWith('/chat/completions', pieces([chunk('a'), 'data: [DONE]']));
    expect(await (await ask()).text()).toBe(`${chunk('a')}data: [DONE]`);
  });

  test('not where it has come to its end without [DONE]', async () => {
    const last = chunk('b').replace('null', '"stop"');
    upstream.respondWith('/chat/completions', pieces([chunk('a'), last]));
    expect(await (await ask()).text()).toBe(chunk('a') + last);
  });
});

test('a node that answers a stream request with JSON is passed on as it is', async () => {
  upstream.respondWith('/chat/completions', { kind: 'answer', body: { choices: [] } });
  const answer = await ask();
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(await answer.json()).toEqual({ choices: [] });
});

test('a stream labelled as JSON is followed as a stream', async () => {
  upstream.respondWith('/chat/completions', {
    kind: 'answer',
    headers: { 'content-type': 'application/json' },
    body: 'data: {"error":{"message":"no","code":503}}\n\n',
  });
  const answer = await ask();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { message: 'no' } });
});

test('a beginning without end is not held back for ever', async () => {
  upstream.respondWith('/chat/completions', {
    kind: 'endlessBody',
    headers: eventStream,
    piece: `: ${'x'.repeat(60_000)}\n\n`,
  });
  const abort = new AbortController();
  const answer = await gateway.post(
    '/chat/completions',
    { model: 'm', stream: true },
    { signal: abort.signal },
  );
  expect(answer.status).toBe(200);
  abort.abort();
  await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined);
});
