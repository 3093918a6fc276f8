import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { endings, start, until } from './harness.ts';
import { memoryStore } from './memory-store.ts';
import { nodeOf } from './resources.ts';

const ends = endings();
afterEach(ends.endAll);

/** A server that counts how many requests it answers at one time, by the Host header. */
async function counting(): Promise<{
  port: number;
  most: () => number;
  mostOfHost: () => number;
  hang: Set<string>;
}> {
  const open = new Map<string, number>();
  const hang = new Set<string>();
  let [most, mostOfHost] = [0, 0];
  const server: Server = createServer((request, response) => {
    const host = request.headers.host ?? '';
    open.set(host, (open.get(host) ?? 0) + 1);
    const all = [...open.values()].reduce((a, b) => a + b, 0);
    [most, mostOfHost] = [Math.max(most, all), Math.max(mostOfHost, open.get(host) ?? 0)];
    response.once('close', () => open.set(host, (open.get(host) ?? 1) - 1));
    if (!hang.has(host.split(':')[0] ?? '')) {
      setTimeout(() => response.end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] })), 2);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  ends.add(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    most: () => most,
    mostOfHost: () => mostOfHost,
    hang,
  };
}

test('hundreds of nodes are synced with bounded concurrency; hanging ones hold back nobody', async () => {
  const server = await counting();
  const memory = memoryStore();
  for (let index = 0; index < 300; index += 1) {
    const host = `127.0.0.${2 + (index % 60)}`;
    memory.apply(nodeOf(`n-${index}`, { baseURL: `http://${host}:${server.port}/v1` }));
  }
  server.hang.add('127.0.0.3');
  server.hang.add('127.0.0.4');
  start(ends, memory);
  const ready = () =>
    [...memory.store.list('UpstreamNode')].filter(({ status }) => status?.phase === 'ready').length;
  await until(() => ready() === 290, 'all but those of the two hosts that hang');
  expect(server.mostOfHost()).toBe(1);
  expect(server.most()).toBeLessThanOrEqual(32);
  expect(server.most()).toBeGreaterThan(4);
});
