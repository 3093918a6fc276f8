import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Pools } from '../../../src/upstream/pools.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { chat, connectionTo, exchange, until } from './exchanges.ts';

const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const loopback = { rules: { allowLoopback: true } };

test('a pool lasts while origin, TLS and connect timeout stay equal', async () => {
  const pools = new Pools(loopback);
  const base = connectionTo(80);
  const pool = pools.pool('n', base);
  expect(pools.pool('n', base)).toBe(pool);
  expect(pools.pool('other', base)).not.toBe(pool);
  const same = [
    { ...base, credential: 'x' },
    { ...base, headers: [{ name: 'a', value: 'b' }] },
    { ...base, baseURL: 'http://127.0.0.1:80/v2' },
    { ...base, authentication: 'APIKey' as const },
    connectionTo(80, { timeouts: { idleSeconds: 9, totalSeconds: 9, firstByteSeconds: 9 } }),
  ];
  for (const connection of same) expect(pools.pool('n', connection)).toBe(pool);
  const changed = [
    { ...base, baseURL: 'https://127.0.0.1:80/v1' },
    { ...base, baseURL: 'http://127.0.0.1:81/v1' },
    { ...base, tls: { caBundle: 'a' } },
    { ...base, tls: { caBundle: 'b' } },
    { ...base, tls: { serverName: 'a' } },
    connectionTo(80, { timeouts: { connectSeconds: 9 } }),
  ];
  let last = pool;
  for (const connection of changed) {
    const next = pools.pool('n', connection);
    expect(next).not.toBe(last);
    expect(pools.pool('n', connection)).toBe(next);
    last = next;
  }
  await pools.close();
});

test.each(['changed', 'released'] as const)(
  'the pool of a %s node ends idle connections at once and the others after their request',
  async (how) => {
    await using server = await scriptedUpstream((socket, connection) => {
      socket.write(connection === 0 ? answer('x') : head);
    });
    const pools = new Pools(loopback);
    const connection = connectionTo(server.port);
    const pool = pools.pool('n', connection);
    const idle = exchange(pool, connection);
    const open = exchange(pool, connection);
    await idle.finished;
    await until(() => open.status === 200);
    if (how === 'changed') pools.pool('n', connectionTo(server.port, { timeouts: { connectSeconds: 1 } }));
    else pools.release('n');
    await until(() => server.sockets[0]?.destroyed === true);
    expect(pool.size).toBe(1);
    expect(server.sockets[1]?.destroyed).toBe(false);
    // Routed to the old pool just before the change: it is still served.
    const late = exchange(pool, connection);
    await until(() => late.status === 200);
    for (const socket of server.sockets.slice(1)) socket.write('1\r\na\r\n0\r\n\r\n');
    await Promise.all([open.finished, late.finished]);
    expect(open).toMatchObject({ body: 'a', ended: 1, errors: [] });
    expect(late).toMatchObject({ body: 'a', ended: 1, errors: [] });
    await until(() => pool.size === 0 && server.sockets.every((socket) => socket.destroyed));
    await pools.close();
  },
);

test('close waits for requests in flight', async () => {
  await using server = await scriptedUpstream((socket) => void socket.write(head));
  const pools = new Pools(loopback);
  const connection = connectionTo(server.port);
  const open = exchange(pools.pool('n', connection), connection);
  await until(() => open.status === 200);
  let closed = false;
  const closing = pools.close().then(() => {
    closed = true;
  });
  await sleep(20);
  expect(closed).toBe(false);
  server.sockets[0]?.write('0\r\n\r\n');
  await closing;
  expect(open).toMatchObject({ ended: 1, errors: [] });
});

test('destroy fails requests in flight, answered, waiting or connecting', async () => {
  await using server = await scriptedUpstream((socket, connection) => {
    if (connection === 0) socket.write(head);
  });
  const pools = new Pools(loopback);
  const connection = connectionTo(server.port);
  const pool = pools.pool('n', connection);
  const streaming = exchange(pool, connection);
  await until(() => streaming.status === 200);
  const waiting = exchange(pool, connection);
  await until(() => server.requests.length === 2);
  const connecting = exchange(pool, connection);
  await pools.destroy();
  await Promise.all([streaming.finished, waiting.finished, connecting.finished]);
  expect(streaming.errors).toMatchObject([{ code: 'reset', answered: true }]);
  expect(waiting.errors).toMatchObject([{ code: 'reset', answered: false }]);
  expect(connecting.errors).toMatchObject([{ code: 'reset', answered: false }]);
  expect(pool.size).toBe(0);
});

test('as many connections as requests in flight, then none but the idle ones', async () => {
  await using server = await scriptedUpstream((socket) => void socket.write(head));
  const pools = new Pools(loopback);
  const connection = connectionTo(server.port);
  const pool = pools.pool('n', connection);
  const all = Array.from({ length: 50 }, () => exchange(pool, connection, chat));
  await until(() => all.every(({ status }) => status === 200));
  expect(server.sockets).toHaveLength(50);
  for (const socket of server.sockets) socket.write('0\r\n\r\n');
  await Promise.all(all.map(({ finished }) => finished));
  expect(all.every(({ ended }) => ended === 1)).toBe(true);
  expect(pool.size).toBe(50);
  const again = exchange(pool, connection, chat);
  await until(() => again.status === 200);
  expect(server.sockets).toHaveLength(50);
  await pools.destroy();
});
