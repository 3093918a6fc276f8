import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Pools } from '../../../src/upstream/pools.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { chat, connectionTo, exchange, until } from './exchanges.ts';

const pools: Pools[] = [];
function newPools(): Pools {
  const made = new Pools({ rules: { allowLoopback: true } });
  pools.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((made) => made.destroy()));
});

test('passes status, headers and bytes on', async () => {
  await using server = await scriptedUpstream((socket) => {
    socket.write(answer('hello', 'HTTP/1.1 201 Created', 'X-A: 1', 'x-a: 2', 'content-type: text/plain'));
  });
  const connection = connectionTo(server.port);
  const heard = exchange(newPools().pool('n', connection), connection);
  expect(heard.status).toBeUndefined();
  await heard.finished;
  expect(heard).toMatchObject({ status: 201, body: 'hello', ended: 1, errors: [] });
  expect(heard.headers?.get('x-a')).toBe('1, 2');
  expect(heard.headers?.get('constructor')).toBeUndefined();
  const fields: string[] = [];
  heard.headers?.forEach((name, value) => {
    fields.push(`${name}: ${value}`);
  });
  expect(fields).toContain('x-a: 2');
});

test('writes path, credential, node headers and identity; a caller sets none of these', async () => {
  await using server = await scriptedUpstream((socket) => void socket.write(answer('{}')));
  const connection = connectionTo(server.port, {
    headers: [{ name: 'Anthropic-Version', value: 'node' }],
  });
  const heard = exchange(newPools().pool('n', connection), connection, {
    ...chat,
    headers: [
      ...chat.headers,
      ...['Authorization', 'Bearer caller', 'anthropic-version', 'caller', 'accept-encoding', 'gzip'],
      ...['x-api-key', 'caller', 'host', 'elsewhere', 'content-length', '1', 'traceparent', 't'],
    ],
  });
  await heard.finished;
  expect(server.requests[0]?.split('\r\n').sort()).toEqual(
    [
      'POST /v1/chat/completions HTTP/1.1',
      `host: 127.0.0.1:${server.port}`,
      'connection: keep-alive',
      'content-type: application/json',
      'traceparent: t',
      'accept-encoding: identity',
      'authorization: Bearer planted-credential',
      'user-agent: model-gateway',
      'Anthropic-Version: node',
      'content-length: 13',
      '',
      '{"model":"m"}',
    ].sort(),
  );
});

test.each([
  ['Bearer', 'authorization: Bearer k'],
  ['XAPIKey', 'x-api-key: k'],
  ['APIKey', 'api-key: k'],
] as const)('%s carries the credential as "%s"', async (authentication, line) => {
  await using server = await scriptedUpstream((socket) => void socket.write(answer('{}')));
  const connection = connectionTo(server.port, { authentication, credential: 'k\n' });
  await exchange(newPools().pool('n', connection), connection).finished;
  expect(server.requests[0]).toContain(`\r\n${line}\r\n`);
});

test('a redirect is a response like any other', async () => {
  await using server = await scriptedUpstream(
    (socket) => void socket.write(answer('', 'HTTP/1.1 307 Go', 'location: http://127.0.0.1:1/')),
  );
  const connection = connectionTo(server.port);
  const heard = exchange(newPools().pool('n', connection), connection);
  await heard.finished;
  expect(heard).toMatchObject({ status: 307, ended: 1 });
  expect(server.requests).toHaveLength(1);
});

test('early hints are no answer', async () => {
  await using server = await scriptedUpstream((socket) => {
    socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${answer('x')}`);
  });
  const connection = connectionTo(server.port);
  const heard = exchange(newPools().pool('n', connection), connection);
  await heard.finished;
  expect(heard).toMatchObject({ status: 200, body: 'x', ended: 1 });
});

test('a connection is used again', async () => {
  await using server = await scriptedUpstream((socket) => void socket.write(answer('x')));
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  for (let i = 0; i < 5; i += 1) {
    const heard = exchange(pool, connection);
    await heard.finished;
    expect(heard.ended).toBe(1);
  }
  expect(server.sockets).toHaveLength(1);
  expect(pool.size).toBe(1);
});

test.each(['close', 'reset'] as const)(
  'a reused connection that the node ends by %s is replaced once',
  async (how) => {
    await using server = await scriptedUpstream((socket, connection, request) => {
      if (connection === 0 && request === 1) {
        if (how === 'close') socket.end();
        else socket.resetAndDestroy();
      } else socket.write(answer(`c${connection}`));
    });
    const connection = connectionTo(server.port);
    const pool = newPools().pool('n', connection);
    await exchange(pool, connection).finished;
    const second = exchange(pool, connection);
    await second.finished;
    expect(second).toMatchObject({ status: 200, body: 'c1', ended: 1, errors: [] });
    expect(server.requests).toHaveLength(3);
  },
);

test.each([10, 17_000, 300_000])(
  'a body of %i bytes that is assembled here is sent whole, and again',
  async (length) => {
    await using server = await scriptedUpstream((socket, connection, request) => {
      if (connection === 0 && request === 1) socket.end();
      else socket.write(answer(`c${connection}`));
    });
    const connection = connectionTo(server.port);
    const pool = newPools().pool('n', connection);
    const body = {
      length,
      writeTo: (target: Buffer, at: number) => void target.fill('xy', at, at + length, 'latin1'),
    };
    for (const expected of ['c0', 'c1', 'c1']) {
      const heard = exchange(pool, connection, { ...chat, body });
      await heard.finished;
      expect(heard).toMatchObject({ body: expected, ended: 1, errors: [] });
    }
    const bodies = server.requests.map((text) => text.slice(text.indexOf('\r\n\r\n') + 4));
    expect(bodies).toEqual(Array.from({ length: 4 }, () => 'xy'.repeat(length / 2)));
  },
);

test('a large body that is assembled here is let go as soon as the node answers, however long that takes', async () => {
  await using server = await scriptedUpstream((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n');
  });
  const connection = connectionTo(server.port);
  let target: Buffer | undefined;
  const body = {
    length: 100_000,
    writeTo: (to: Buffer, at: number) => {
      target = to;
      to.fill('x', at);
    },
  };
  const heard = exchange(newPools().pool('n', connection), connection, { ...chat, body });
  await until(() => heard.chunks.length > 0 && target?.length === 0);
  expect(heard).toMatchObject({ body: 'one', ended: 0, errors: [] });
  heard.abort();
});

test('the replacement is a fresh connection, not another idle one that may be as stale', async () => {
  await using server = await scriptedUpstream((socket, connection, request) => {
    if (connection < 2 && request === 1) socket.end();
    else socket.write(answer(`c${connection}`));
  });
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  await Promise.all([exchange(pool, connection).finished, exchange(pool, connection).finished]);
  const third = exchange(pool, connection);
  await third.finished;
  expect(third).toMatchObject({ body: 'c2', ended: 1, errors: [] });
  expect(server.requests).toHaveLength(4);
});

test('the replacement is not replaced again', async () => {
  await using server = await scriptedUpstream((socket, connection, request) => {
    if (connection === 0 && request === 0) socket.write(answer('x'));
    else socket.end();
  });
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  await exchange(pool, connection).finished;
  const second = exchange(pool, connection);
  await second.finished;
  expect(second.errors).toMatchObject([{ code: 'reset', answered: false }]);
  expect(server.requests).toHaveLength(3);
});

test('a fresh connection is not replaced', async () => {
  await using server = await scriptedUpstream((socket) => void socket.end());
  const connection = connectionTo(server.port);
  const heard = exchange(newPools().pool('n', connection), connection);
  await heard.finished;
  expect(heard.errors).toMatchObject([{ code: 'reset', answered: false }]);
  expect(server.requests).toHaveLength(1);
});

test('a reused connection that ends after the first byte is not replaced', async () => {
  await using server = await scriptedUpstream((socket, _connection, request) => {
    if (request === 0) socket.write(answer('x'));
    else socket.end('HTTP/1.1 2');
  });
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  await exchange(pool, connection).finished;
  const second = exchange(pool, connection);
  await second.finished;
  expect(second.errors).toMatchObject([{ code: 'reset', answered: false }]);
  expect(server.requests).toHaveLength(2);
});

test('an idle connection that the node closed is not tried', async () => {
  await using server = await scriptedUpstream((socket) => void socket.write(answer('x')));
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  await exchange(pool, connection).finished;
  server.sockets[0]?.end();
  await until(() => pool.size === 0);
  const second = exchange(pool, connection);
  await second.finished;
  expect(second).toMatchObject({ ended: 1, errors: [] });
});

test.each([
  [50, 'sent again'],
  [1_500, 'not sent again'],
] as const)(
  'a request on a reused connection that the node closes after %i ms is %s',
  async (ms, outcome) => {
    await using server = await scriptedUpstream((socket, connection, request) => {
      if (connection === 0 && request === 1) setTimeout(() => socket.destroy(), ms);
      else socket.write(answer(`c${connection}`));
    });
    const connection = connectionTo(server.port);
    const made = newPools();
    const pool = made.pool('n', connection);
    await exchange(pool, connection).finished;
    expect([...made.replays()]).toEqual([]);
    const second = exchange(pool, connection);
    await second.finished;
    if (outcome === 'sent again') {
      expect(second).toMatchObject({ body: 'c1', ended: 1, errors: [] });
      expect([...made.replays()]).toEqual([{ node: 'n', value: 1 }]);
    } else {
      expect(second).toMatchObject({ ended: 0, errors: [{ code: 'reset', answered: false }] });
      expect(server.requests).toHaveLength(2);
      expect([...made.replays()]).toEqual([]);
    }
  },
);

test('what is counted of a node outlives its pool, and ends with the node', async () => {
  await using server = await scriptedUpstream((socket, _connection, request) => {
    if (request === 1) socket.destroy();
    else socket.write(answer('x'));
  });
  const made = newPools();
  for (const connectSeconds of [1, 2]) {
    const connection = connectionTo(server.port, { timeouts: { connectSeconds } });
    for (let request = 0; request < 2; request++) {
      await exchange(made.pool('n', connection), connection).finished;
    }
    expect([...made.replays()]).toEqual([{ node: 'n', value: connectSeconds }]);
  }
  made.release('n');
  expect([...made.replays()]).toEqual([]);
});

describe('408 is', () => {
  const late = answer('late', 'HTTP/1.1 408 Request Timeout', 'connection: close');

  test('the end of an idle connection, if it crosses the request: sent again', async () => {
    await using server = await scriptedUpstream((socket, connection, request) => {
      if (connection === 0 && request === 1) socket.end(late);
      else socket.write(answer(`c${connection}`));
    });
    const connection = connectionTo(server.port);
    const pool = newPools().pool('n', connection);
    await exchange(pool, connection).finished;
    const second = exchange(pool, connection);
    await second.finished;
    expect(second).toMatchObject({ status: 200, body: 'c1', ended: 1, errors: [] });
    await until(() => pool.size === 1);
  });

  test.each([
    ['on a fresh connection', 0, 0],
    ['after a second', 1, 1_200],
  ])('an answer like any other %s', async (_name, before, ms) => {
    await using server = await scriptedUpstream((socket, _connection, request) => {
      if (request === before) setTimeout(() => socket.end(late), ms);
      else socket.write(answer('x'));
    });
    const connection = connectionTo(server.port);
    const pool = newPools().pool('n', connection);
    for (let request = 0; request < before; request++) await exchange(pool, connection).finished;
    const last = exchange(pool, connection);
    await last.finished;
    expect(last).toMatchObject({ status: 408, body: 'late', ended: 1 });
    expect(server.requests).toHaveLength(before + 1);
  });
});

describe('the first-byte timeout counts', () => {
  const body = Buffer.alloc(24 * 1024 * 1024, 'x');

  /** A server that begins to read after `readAfterMs` and answers `answerAfterMs` after it has read all. */
  async function slowReader(readAfterMs: number, answerAfterMs: number) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.pause();
      setTimeout(() => socket.resume(), readAfterMs);
      let bytes = 0;
      socket.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > body.length) setTimeout(() => socket.end(answer('read')), answerAfterMs);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      port: (server.address() as AddressInfo).port,
      [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
    };
  }

  test('from the end of the request', async () => {
    await using server = await slowReader(900, 900);
    const connection = connectionTo(server.port, { timeouts: { firstByteSeconds: 1.5, totalSeconds: 30 } });
    const heard = exchange(newPools().pool('n', connection), connection, { ...chat, body });
    await heard.finished;
    expect(heard).toMatchObject({ status: 200, body: 'read', errors: [] });
  });

  test('the request itself too, if the node does not take it', async () => {
    await using server = await slowReader(20_000, 0);
    const connection = connectionTo(server.port, { timeouts: { firstByteSeconds: 0.3, totalSeconds: 30 } });
    const pool = newPools().pool('n', connection);
    const heard = exchange(pool, connection, { ...chat, body });
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'first_byte_timeout', answered: false }]);
    await until(() => pool.size === 0);
  });
});

test('what a connection failed by is in the error, without anything else of it', async () => {
  await using server = await scriptedUpstream((socket, connection) => {
    if (connection === 0) socket.resetAndDestroy();
    else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab', () => socket.resetAndDestroy());
  });
  const connection = connectionTo(server.port);
  const pool = newPools().pool('n', connection);
  for (const answered of [false, true]) {
    const heard = exchange(pool, connection);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'reset', answered, detail: 'ECONNRESET' }]);
    expect(heard.errors[0]?.message).toMatch(/ \(ECONNRESET\)$/);
    expect(heard.errors[0]?.message).not.toMatch(/127|planted/);
  }
});
