import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { connectionLifeMs, Pools } from '../../../src/upstream/pools.ts';
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

test('idle connections are used in turns, so that all replicas behind one address get work', async () => {
  const counts: number[] = [];
  await using server = await scriptedUpstream((socket, connection) => {
    counts[connection] = (counts[connection] ?? 0) + 1;
    socket.write(answer('x'));
  });
  const pools = new Pools(loopback);
  const connection = connectionTo(server.port);
  const pool = pools.pool('n', connection);
  const together = () => Promise.all([0, 1, 2, 3].map(() => exchange(pool, connection).finished));
  await together();
  for (let request = 0; request < 20; request++) await exchange(pool, connection).finished;
  expect(counts).toEqual([6, 6, 6, 6]);
  expect(server.sockets).toHaveLength(4);
  await pools.destroy();
});

test('taking turns keeps no more connections than are wanted: those that idle too long are closed', async () => {
  await using server = await scriptedUpstream((socket) => {
    socket.write(answer('x', 'HTTP/1.1 200 OK', 'keep-alive: timeout=2'));
  });
  const pools = new Pools(loopback);
  const connection = connectionTo(server.port);
  const pool = pools.pool('n', connection);
  await Promise.all(Array.from({ length: 20 }, () => exchange(pool, connection).finished));
  expect(pool.size).toBe(20);
  await until(() => pool.size === 0, 10_000);
  await pools.destroy();
});

test('a connection has its time: then the next request opens another, an idle one is closed, a stream goes on', async () => {
  let streaming: Socket | undefined;
  await using server = await scriptedUpstream((socket, connection) => {
    if (connection === 0) {
      streaming = socket;
      socket.write(head);
    } else socket.write(answer(`c${connection}`));
  });
  const lives = [300, 300, 60_000];
  const pools = new Pools({ ...loopback, lifeMs: () => lives.shift() ?? 60_000 });
  const connection = connectionTo(server.port);
  const pool = pools.pool('n', connection);
  const stream = exchange(pool, connection);
  await until(() => stream.status === 200);
  const first = exchange(pool, connection);
  await first.finished;
  expect(first.body).toBe('c1');
  await until(() => server.sockets[1]?.destroyed === true, 5_000);
  const second = exchange(pool, connection);
  await second.finished;
  expect(second.body).toBe('c2');
  await sleep(600);
  expect(server.sockets[2]?.destroyed).toBe(false);
  streaming?.write('1\r\na\r\n0\r\n\r\n');
  await stream.finished;
  expect(stream).toMatchObject({ body: 'a', ended: 1, errors: [] });
  await until(() => server.sockets[0]?.destroyed === true, 5_000);
  await pools.destroy();
});

test('a connection is too old between two looks, too', async () => {
  await using server = await scriptedUpstream(
    (socket, connection) => void socket.write(answer(`c${connection}`)),
  );
  const pools = new Pools({ ...loopback, lifeMs: () => 0 });
  const connection = connectionTo(server.port);
  for (const body of ['c0', 'c1', 'c2']) {
    const heard = exchange(pools.pool('n', connection), connection);
    await heard.finished;
    expect(heard.body).toBe(body);
  }
  await pools.destroy();
});

test('a connection lives five minutes, a fifth more or less', () => {
  expect(connectionLifeMs(0)).toBe(240_000);
  expect(connectionLifeMs(0.5)).toBe(300_000);
  expect(connectionLifeMs(1)).toBe(360_000);
});
