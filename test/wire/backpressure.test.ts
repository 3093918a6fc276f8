import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway();
  upstream = await gateway.addNode('n');
});
afterEach(() => gateway.close());

const event = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(16_000)}"},"finish_reason":null}]}\n\n`;

test.each([
  ['stream', true, 'text/event-stream'],
  ['plain answer', false, 'application/json'],
])('a caller that does not read stops the node: %s', async (_name, stream, type) => {
  upstream.respondWith('/chat/completions', {
    kind: 'endlessBody',
    piece: event,
    headers: { 'content-type': type },
  });
  const body = JSON.stringify({ model: 'm', stream });
  const socket = connect(gateway.port, '127.0.0.1');
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
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
  await delay(300);
  expect(read).toBeGreaterThan(before);
  expect(sent()).toBeGreaterThan(before);
  socket.destroy();
  await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined);
});
