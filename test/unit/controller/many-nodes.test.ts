import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { endings, start, until } from './harness.ts';
import { memoryStore } from './memory-store.ts';
import { nodeOf, secretOf } from './resources.ts';

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
  expect(server.mostOfHost()).toBeLessThanOrEqual(4);
  expect(server.most()).toBeLessThanOrEqual(32);
  expect(server.most()).toBeGreaterThan(4);
});

test('one host for many teams: hanging nodes of one team do not delay others, and equal nodes share a contact', async () => {
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const credential = request.headers.authorization ?? '';
    asked.set(credential, (asked.get(credential) ?? 0) + 1);
    if (credential.includes('hanging')) return;
    setTimeout(() => response.end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] })), 10);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.add(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const memory = memoryStore();
  const add = (namespace: string, name: string, text: string) => {
    memory.putSecret(secretOf(name, { apiKey: text }, { namespace }));
    memory.apply(nodeOf(name, { baseURL, apiKeySecretRef: { name } }, { namespace }));
  };
  // The team that hangs was first, and has most of the nodes.
  for (let node = 0; node < 100; node += 1) add('hanging', `n-${node}`, `hanging-${node}`);
  for (let team = 0; team < 20; team += 1)
    for (let node = 0; node < 5; node += 1) add(`team-${team}`, `n-${node}`, `sk-${team}-${node}`);
  for (let node = 0; node < 100; node += 1) add('alike', `n-${node}`, 'sk-alike');
  start(ends, memory);
  const ready = () =>
    [...memory.store.list('UpstreamNode')].filter(({ status }) => status?.phase === 'ready').length;
  await until(() => ready() === 200, 'all but those of the team that hangs');
  expect(asked.get('Bearer sk-alike')).toBeLessThanOrEqual(2);
  expect([...asked.keys()].filter((key) => key.includes('hanging')).length).toBeLessThanOrEqual(4);
});
