import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listenOnHost } from '../../../src/listen/listen-on-host.ts';

const opened: Server[] = [];
const newServer = (): Server => {
  const server = createServer();
  opened.push(server);
  return server;
};
const addressOf = (server: Server): AddressInfo => server.address() as AddressInfo;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

test('localhost is both of its addresses on one port, another host is one', async () => {
  const { address, servers } = await listenOnHost('localhost', 0, newServer);
  expect(servers.map(addressOf).map((each) => [each.address, each.port])).toEqual([
    ['127.0.0.1', address.port],
    ['::1', address.port],
  ]);
  expect((await listenOnHost('LocalHost', 0, newServer)).servers).toHaveLength(2);
  const one = await listenOnHost('127.0.0.1', 0, newServer);
  expect(one.servers.map(addressOf)).toEqual([one.address]);
});

test('a free port that only one of the addresses has free gives way to the next', async () => {
  let made = 0;
  const { address, servers } = await listenOnHost('localhost', 0, () => {
    made += 1;
    // Another program takes the port at the second address just before.
    if (made === 2) newServer().listen(addressOf(opened[0] as Server).port, '::1');
    return newServer();
  });
  expect(made).toBe(4);
  expect(servers.map((server) => addressOf(server).port)).toEqual([address.port, address.port]);
});

test('a port that was asked for is taken at all addresses or at none', async () => {
  const taken = newServer();
  await new Promise<void>((resolve) => taken.listen(0, '::1', resolve));
  const { port } = addressOf(taken);
  await expect(listenOnHost('localhost', port, newServer)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(opened.filter((server) => server.listening)).toEqual([taken]);
});
