import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ limits: { answerIdleMs: 2_000, idleConnectionMs: 20_000 } });
  upstream = await gateway.addNode('n');
});
afterEach(() => gateway.close());

const event = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(16_000)}"},"finish_reason":null}]}\n\n`;

function callWithoutReading(stream: boolean): Socket {
  const body = JSON.stringify({ model: 'm', stream });
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

test.each([
  ['stream', true, 'text/event-stream'],
  ['plain answer', false, 'application/json'],
])('a caller that does not read stops the node: %s', async (_name, stream, type) => {
  upstream.respondWith('/chat/completions', {
    kind: 'endlessBody',
    piece: event,
    headers: { 'content-type': type },
  });
  const socket = callWithoutReading(stream);
  await upstream.waitFor((requests) => requests.length === 1);
  const sent = () => upstream.requests[0]?.sentBytes() ?? 0;
  let before = -1;
  for (let i = 0; i < 100 && sent() !== before; i++) {
    before = sent();
    await delay(100);
  }
  const memory = process.memoryUsage().arrayBuffers;
  await delay(300);
  // Only what the kernel's buffers on both sides hold has left the node; and it leaves no more.
  expect(sent()).toBe(before);
  expect(process.memoryUsage().arrayBuffers - memory).toBeLessThan(4 * 1024 * 1024);
  // When the caller reads again, so does the gateway.
  let read = 0;
  socket.on('data', (piece: Buffer) => (read += piece.length));
  socket.resume();
  await eventually('both go on', async () => read > before && sent() > before, 5000, 20);
  socket.destroy();
  await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined);
});

const large = { kind: 'answer', body: { choices: [], pad: 'x'.repeat(20_000_000) } } as const;

test.each<[string, boolean, Behaviour]>([
  [
    'an endless stream',
    true,
    { kind: 'endlessBody', piece: event, headers: { 'content-type': 'text/event-stream' } },
  ],
  ['a large answer', false, large],
])('a caller that never reads is cut off: %s', async (_name, stream, behaviour) => {
  await gateway.close();
  gateway = await startGateway({ limits: { answerIdleMs: 300 } });
  upstream = await gateway.addNode('n');
  upstream.respondWith('/chat/completions', behaviour);
  const socket = callWithoutReading(stream);
  await eventually('it is cut off', async () => gateway.done.length === 1, 5000, 20);
  expect(gateway.done).toMatchObject([{ status: 499 }]);
  expect(gateway.gateway.inFlight()).toBe(0);
  socket.destroy();
});

test('a caller that reads slowly gets all of it, and its connection serves on', async () => {
  await gateway.close();
  gateway = await startGateway({ limits: { answerIdleMs: 300 } });
  upstream = await gateway.addNode('n');
  upstream.respondWith('/chat/completions', large);
  const socket = callWithoutReading(false);
  let read = 0;
  for (const began = performance.now(); performance.now() - began < 1500; await delay(20)) {
    read += (socket.read() as Buffer | null)?.length ?? 0;
  }
  expect(read).toBeLessThan(20_000_000);
  socket.on('data', (piece: Buffer) => (read += piece.length));
  socket.resume();
  await eventually('all is read', async () => read > 20_000_000, 5000, 20);
  // Longer than the limit on answers: what is idle now is the connection.
  await delay(600);
  upstream.respondWith('/chat/completions', undefined);
  const before = read;
  const body = '{"model":"m"}';
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await eventually('it serves on', async () => read > before, 2000, 20);
  socket.destroy();
});

test('small pieces come whole and in order to a caller that stops now and then', async () => {
  const count = 1200;
  const pad = 'x'.repeat(8000);
  const events = Array.from({ length: count }, (_, n) => `data: {"n":${n},"pad":"${pad}"}\n\n`);
  upstream.respondWith('/chat/completions', {
    kind: 'run',
    run: async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // One by one, so that each is read as a piece of its own, until the caller's buffers are full.
      for (const event of events) {
        if (response.write(event)) await new Promise((resolve) => setImmediate(resolve));
        else await once(response, 'drain');
      }
      response.end('data: [DONE]\n\n');
    },
  });
  const call = request({
    ...{ port: gateway.port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' },
    headers: { authorization: `Bearer ${gateway.key}` },
  }).end('{"model":"m","stream":true}');
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let [text, pieces] = ['', 0];
  await delay(500);
  for await (const piece of response) {
    text += String(piece);
    if (pieces++ % 20 === 0) await delay(20);
  }
  // node:http's own client has judged the chunks.
  expect(text === `${events.join('')}data: [DONE]\n\n`, `${text.length} bytes came`).toBe(true);
});
