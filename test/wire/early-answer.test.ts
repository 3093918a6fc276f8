import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';

let gateway: GatewayUnderTest;
const sockets = new Set<Socket>();
const received: number[] = [];
let strange = 0;

/** A node that answers as soon as it sees a request and reads the rest of it later. */
const node = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('data', (head) => {
    count(head);
    socket.pause();
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write('2\r\n{}\r\n');
    setTimeout(() => {
      socket.on('data', count);
      socket.resume();
    }, 300);
  });
});

function count(piece: Buffer): void {
  received.push(piece.length);
  const text = piece.toString('latin1');
  // The text of the message and nothing else may come in such lengths.
  if (/[^a]{4096}/.test(text)) strange += 1;
}

beforeEach(async () => {
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  const { port } = node.address() as { port: number };
  gateway = await startGateway();
  gateway.setNode('early', { baseURL: `http://127.0.0.1:${port}/v1`, manualModels: ['m'] });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all([gateway.close(), new Promise((resolve) => node.close(resolve))]);
});

test('a node that answers before it has read the request gets the whole request all the same', async () => {
  const bytes = 16_000_000;
  const answer = await gateway.post('/chat/completions', { model: 'm', text: 'a'.repeat(bytes) });
  expect(answer.status).toBe(200);
  // The memory of a body that was given up would be taken by these.
  for (let index = 0; index < 4; index += 1) {
    await gateway.post('/chat/completions', { model: 'unknown', text: 'b'.repeat(bytes) });
  }
  const whole = () => received.reduce((sum, length) => sum + length, 0) > bytes;
  for (let tries = 0; tries < 200 && !whole(); tries += 1) await delay(20);
  expect(whole()).toBe(true);
  expect(strange).toBe(0);
});
