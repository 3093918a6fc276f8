import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { constants, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

const bufferedBytes = 1_000_000;
let gateway: GatewayUnderTest;
let node: ScriptedUpstream;
let sockets: Socket[] = [];

beforeEach(async () => {
  gateway = await startGateway({ limits: { bodyBytes: 700_000, bufferedBytes } });
  node = await gateway.addNode('n', { spec: { nativeFormats: ['Messages'] } });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await gateway.close();
});

const ask = (key: string, bytes: number, path = '/chat/completions') =>
  gateway.post(
    path,
    { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(bytes) }] },
    { headers: { authorization: `Bearer ${key}` } },
  );

/** Sends so much of a body and then nothing more; resolves when the gateway has read it. */
async function hold(key: string, bytes: number): Promise<void> {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: 699999\r\n\r\n`,
  );
  await new Promise((resolve) => socket.write('x'.repeat(bytes), resolve));
  // The kernel has it. Each turn of the event loop reads up to 64 KiB of it, and answers at most one of these.
  for (let turn = 0; turn < 2 + bytes / 32_768; turn++)
    await (await fetch(`${gateway.baseURL}/nothing`)).text();
}

/** Asks until the answer has this status: connections that were closed may not be noticed yet. */
async function untilStatus(status: number, askOnce: () => Promise<Response>): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await askOnce();
    await answer.arrayBuffer();
    if (tries === 500) expect(answer.status).toBe(status);
    if (answer.status === status) return;
    await delay(10);
  }
}

describe.each(['/chat/completions', '/messages'])('%s', (path) => {
  test('a key beyond its share is refused alone; other keys are refused only if all is full', async () => {
    const [greedy, other, third] = [gateway.key, gateway.addKey(), gateway.addKey()];
    await hold(greedy, 350_000);
    await hold(greedy, 390_000);
    const refused = await ask(greedy, 30_000, path);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({
      error: {
        message: expect.stringMatching(/^This key holds its share/),
        type: 'rate_limit_error',
      },
    });
    // A small request finds room in what is left of the three quarters; a large one of another key in the last.
    expect((await ask(greedy, 100, path)).status).toBe(200);
    expect((await ask(other, 80_000, path)).status).toBe(200);
    await hold(other, 255_000);
    const full = await ask(third, 30_000, path);
    expect(full.status).toBe(path === '/messages' ? 529 : 503);
    expect(full.headers.get('retry-after')).toBe('1');
    for (const socket of sockets) socket.destroy();
    await untilStatus(200, () => ask(greedy, 240_000, path));
  });
});

test('complete bodies count for as long as the model thinks, and answers to convert too', async () => {
  gateway.setNode('n', {
    baseURL: node.url,
    models: [{ name: 'm', aliases: ['alias'] }],
    manualModels: ['m'],
  });
  node.respondWith('/chat/completions', { kind: 'hang' });
  const other = gateway.addKey();
  const abort = new AbortController();
  const thinking = [0, 1, 2].map(() =>
    gateway
      .post('/chat/completions', { model: 'm', a: 'x'.repeat(245_000) }, { signal: abort.signal })
      .catch(() => {}),
  );
  await node.waitFor((requests) => requests.length === 3);
  expect((await ask(gateway.key, 100_000)).status).toBe(429);
  node.respondWith('/chat/completions', undefined);
  expect((await ask(other, 100_000)).status).toBe(200);
  abort.abort();
  await Promise.all(thinking);
  await untilStatus(200, () => ask(gateway.key, 600_000));
  // Under the node's own name for an alias it is no copy.
  const named = await gateway.post('/chat/completions', { model: 'alias', a: 'x'.repeat(400_000) });
  expect(named.status).toBe(200);
  // The answer that is collected to be converted: no other node would find room for it either.
  await gateway.addNode('second', { spec: { priority: 1 } });
  node.respondWith('/chat/completions', { kind: 'answer', body: { padding: 'y'.repeat(800_000) } });
  const before = gateway.attempted.length;
  expect((await ask(gateway.key, 10, '/messages')).status).toBe(429);
  expect(gateway.attempted.slice(before)).toEqual(['default/n not_sent']);
  expect(gateway.gateway.openCircuits()).toBe(0);
});

test('an answer that was converted counts until its caller has read it', async () => {
  const mib = 1024 * 1024;
  const large = await startGateway({ limits: { bufferedBytes: 32 * mib } });
  const upstream = await large.addNode('n');
  const message = { role: 'assistant', content: 'y'.repeat(20 * mib) };
  upstream.respondWith('/chat/completions', {
    kind: 'answer',
    body: { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }] },
  });
  const body = JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
  const socket = connect(large.port, '127.0.0.1');
  sockets.push(socket);
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${large.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise<void>((resolve) =>
    socket.once('data', () => {
      socket.pause();
      resolve();
    }),
  );
  upstream.respondWith('/chat/completions', undefined);
  const ask = () => large.post('/chat/completions', { model: 'm', a: 'x'.repeat(10 * mib) });
  expect((await ask()).status).toBe(429);
  socket.resume();
  await untilStatus(200, ask);
  await large.close();
});

test('a request that finds no room is no probe of a half-open circuit, and leaves it to the next', async () => {
  gateway.setNode('n', {
    baseURL: node.url,
    priority: 90,
    models: [{ name: 'm', aliases: ['alias'] }],
    manualModels: ['m'],
  });
  await gateway.addNode('second', {
    spec: { priority: 10, models: [{ name: 'm', aliases: ['alias'] }], manualModels: ['m'] },
  });
  node.respondWith('/chat/completions', {
    kind: 'answer',
    status: 503,
    headers: { 'retry-after': '1' },
    body: {},
  });
  const call = (bytes: number) =>
    gateway.post('/messages', {
      model: 'alias',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
    });
  const served = async (bytes: number) => {
    const answer = await call(bytes);
    await answer.arrayBuffer();
    return `${answer.status} ${answer.headers.get('x-model-gateway-node')}`;
  };
  expect(await served(10)).toBe('200 default/second');
  node.respondWith('/chat/completions', undefined);
  expect(await served(10)).toBe('200 default/second');
  await delay(1_050);
  expect(await served(500_000)).toBe('429 null');
  expect(await served(10)).toBe('200 default/n');
});

test('a zstd frame that wants a window beyond 8 MiB is refused', async () => {
  const large = await startGateway({ limits: { bodyBytes: 32 * 1024 * 1024 } });
  await large.addNode('n');
  const text = Buffer.from(JSON.stringify({ model: 'm', a: 'x'.repeat(20_000_000) }));
  const framed = (windowLog: number) =>
    zstdCompressSync(text, {
      params: { [constants.ZSTD_c_windowLog]: windowLog, [constants.ZSTD_c_contentSizeFlag]: 0 },
    });
  const status = async (windowLog: number) =>
    (await large.post('/chat/completions', framed(windowLog), { headers: { 'content-encoding': 'zstd' } }))
      .status;
  expect(await status(23)).toBe(200);
  expect(await status(24)).toBe(400);
  expect(await status(27)).toBe(400);
  await large.close();
});
