import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import type { UpstreamConnection } from '../../../src/upstream/connection.ts';
import { Pools } from '../../../src/upstream/pools.ts';
import { answer, scriptedUpstream } from '../../support/scripted-upstream.ts';
import { chat, connectionTo, exchange, until } from './exchanges.ts';

const pools = new Pools({ rules: { allowLoopback: true } });
afterAll(() => pools.destroy());

const head = 'HTTP/1.1 200 OK\r\n';
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`;

function endless(socket: Socket, piece: string): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}

interface Failure {
  readonly name: string;
  readonly script: (socket: Socket) => void;
  readonly timeouts?: Partial<UpstreamConnection['timeouts']>;
  readonly code: string;
  readonly answered: boolean;
}

const failures: Failure[] = [
  {
    name: 'no answer',
    script: () => undefined,
    timeouts: { firstByteSeconds: 0.2 },
    code: 'first_byte_timeout',
    answered: false,
  },
  {
    name: 'half a head, then silence',
    script: (socket) => socket.write(`${head}content-`),
    timeouts: { firstByteSeconds: 0.2 },
    code: 'first_byte_timeout',
    answered: false,
  },
  {
    name: 'a head, then silence',
    script: (socket) => socket.write(chunked),
    timeouts: { idleSeconds: 0.2 },
    code: 'idle_timeout',
    answered: true,
  },
  {
    name: 'a piece of the body, then silence',
    script: (socket) => socket.write(`${chunked}1\r\na\r\n`),
    timeouts: { idleSeconds: 0.2 },
    code: 'idle_timeout',
    answered: true,
  },
  {
    name: 'a body that trickles for ever',
    script: (socket) => {
      socket.write(chunked);
      const timer = setInterval(() => socket.write('1\r\na\r\n'), 20);
      socket.once('close', () => clearInterval(timer));
    },
    timeouts: { totalSeconds: 0.3, idleSeconds: 1 },
    code: 'total_timeout',
    answered: true,
  },
  {
    name: 'silence until the total timeout',
    script: () => undefined,
    timeouts: { totalSeconds: 0.1 },
    code: 'total_timeout',
    answered: false,
  },
  {
    name: 'interim answers for ever',
    script: (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      socket.once('close', () => clearInterval(timer));
    },
    timeouts: { totalSeconds: 0.3 },
    code: 'total_timeout',
    answered: false,
  },
  { name: 'end before the head', script: (socket) => socket.end(), code: 'reset', answered: false },
  { name: 'reset before the head', script: (s) => s.resetAndDestroy(), code: 'reset', answered: false },
  { name: 'end in the head', script: (socket) => socket.end(`${head}a`), code: 'reset', answered: false },
  {
    name: 'end before the announced length',
    script: (socket) => socket.end(`${head}content-length: 5\r\n\r\nab`),
    code: 'reset',
    answered: true,
  },
  {
    name: 'end before the announced length, without keep-alive',
    script: (socket) => socket.end(`${head}connection: close\r\ncontent-length: 5\r\n\r\nab`),
    code: 'reset',
    answered: true,
  },
  {
    name: 'end in the middle of a chunk',
    script: (socket) => socket.end(`${chunked}5\r\nab`),
    code: 'reset',
    answered: true,
  },
  {
    name: 'end between chunks, without keep-alive',
    script: (socket) =>
      socket.end(`${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n`),
    code: 'reset',
    answered: true,
  },
  {
    name: 'reset in the body',
    script: (socket) => socket.write(`${chunked}1\r\na\r\n`, () => socket.resetAndDestroy()),
    code: 'reset',
    answered: true,
  },
  {
    name: 'no HTTP',
    script: (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'),
    code: 'protocol',
    answered: false,
  },
  {
    name: 'a chunk length that is no number',
    script: (socket) => socket.write(`${chunked}zz\r\n`),
    code: 'protocol',
    answered: true,
  },
  {
    name: 'both length and chunks (smuggling)',
    script: (socket) =>
      socket.write(`${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
    code: 'protocol',
    answered: false,
  },
  {
    name: 'an upgrade that nobody asked for',
    script: (socket) => socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    code: 'reset',
    answered: false,
  },
  {
    name: 'headers without end',
    script: (socket) => {
      socket.write(head);
      endless(socket, 'x-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n');
    },
    code: 'too_large',
    answered: false,
  },
  {
    name: 'one header without end',
    script: (socket) => {
      socket.write(`${head}x: `);
      endless(socket, 'a'.repeat(1000));
    },
    code: 'too_large',
    answered: false,
  },
  {
    name: 'trailers without end',
    script: (socket) => {
      socket.write(`${chunked}0\r\n`);
      endless(socket, `x: ${'a'.repeat(100)}\r\n`);
    },
    code: 'too_large',
    answered: true,
  },
];

describe.concurrent('an upstream that fails', () => {
  test.each(failures)('$name: $code', async ({ script, timeouts, code, answered }) => {
    await using server = await scriptedUpstream(script);
    const connection = connectionTo(server.port, timeouts ? { timeouts } : {});
    const pool = pools.pool(`failure ${server.port}`, connection);
    const heard = exchange(pool, connection);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code, answered }]);
    expect(heard.ended).toBe(0);
    expect(heard.status !== undefined).toBe(answered);
    expect(heard.errors[0]?.message).not.toMatch(/127\.0|http:|planted|SSH|zz/);
    await until(() => pool.size === 0 && server.sockets.every((socket) => socket.destroyed));
    expect(server.requests).toHaveLength(1);
  });

  test('nobody listens: connect_refused', async () => {
    const server = await scriptedUpstream(() => undefined);
    await server[Symbol.asyncDispose]();
    const connection = connectionTo(server.port);
    const pool = pools.pool('refused', connection);
    const heard = exchange(pool, connection);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'connect_refused', answered: false }]);
    await until(() => pool.size === 0);
  });

  test('a name that does not exist: dns', async () => {
    const failing = new Pools({
      rules: { allowLoopback: true },
      lookup: (_name, _options, callback) =>
        callback(Object.assign(new Error('x'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' }), []),
    });
    const connection = connectionTo(1, { baseURL: 'http://models.example/v1' });
    const heard = exchange(failing.pool('n', connection), connection);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'dns', answered: false }]);
    await failing.destroy();
  });

  test.each([
    ['the name look-up', 'http'],
    ['the TLS handshake', 'https'],
  ])('silence in %s: connect_timeout', async (_name, scheme) => {
    await using server = await scriptedUpstream(() => undefined);
    const silent = new Pools({
      rules: { allowLoopback: true },
      lookup: (_hostname, _options, callback) => {
        if (scheme === 'https') callback(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const baseURL = `${scheme}://models.example:${server.port}`;
    const connection = connectionTo(1, { baseURL, timeouts: { connectSeconds: 0.1 } });
    const began = performance.now();
    const heard = exchange(silent.pool('n', connection), connection);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'connect_timeout', answered: false }]);
    expect(performance.now() - began).toBeLessThan(5_000);
    await silent.destroy();
  });

  test('a header that cannot be sent: protocol, and the callback comes after send', async () => {
    const connection = connectionTo(1, { credential: 'a\nplanted' });
    const heard = exchange(pools.pool('bad header', connection), connection);
    expect(heard.errors).toEqual([]);
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'protocol', answered: false }]);
    expect(heard.errors[0]?.message).not.toContain('planted');
  });

  test('a body without length ends with the connection', async () => {
    await using server = await scriptedUpstream(
      (socket) => void socket.end(`${head}connection: close\r\n\r\nabc`),
    );
    const connection = connectionTo(server.port);
    const heard = exchange(pools.pool('eof', connection), connection);
    await heard.finished;
    expect(heard).toMatchObject({ status: 200, body: 'abc', ended: 1, errors: [] });
  });

  test('a second answer that nobody asked for is not given to the next request', async () => {
    await using server = await scriptedUpstream((socket, connection) => {
      if (connection === 0) socket.write(answer('first') + answer('planted'));
      else socket.write(answer('second'));
    });
    const connection = connectionTo(server.port);
    const pool = pools.pool('smuggled', connection);
    await exchange(pool, connection).finished;
    const second = exchange(pool, connection);
    await second.finished;
    expect(second.body).toBe('second');
  });
});

describe.concurrent('abort', () => {
  const stages: [string, string, (socket: Socket) => void][] = [
    ['awaiting the first byte', 'request', () => undefined],
    ['in a streamed body', 'data', (socket) => void socket.write(`${chunked}1\r\na\r\n`)],
    ['in a plain body', 'data', (socket) => void socket.write(`${head}content-length: 9\r\n\r\na`)],
  ];
  test.each(stages)(
    '%s ends the socket within 100 ms and nothing is heard after',
    async (_name, when, script) => {
      await using server = await scriptedUpstream(script);
      const connection = connectionTo(server.port);
      const pool = pools.pool(`abort ${server.port}`, connection);
      const heard = exchange(pool, connection);
      await until(() => (when === 'data' ? heard.chunks.length > 0 : server.requests.length > 0));
      heard.abort();
      await until(() => server.sockets[0]?.destroyed === true, 100);
      await sleep(20);
      expect(heard).toMatchObject({ ended: 0, errors: [] });
      expect(pool.size).toBe(0);
    },
  );

  test('while a TLS connection is being made', async () => {
    await using server = await scriptedUpstream(() => undefined);
    const connection = connectionTo(1, { baseURL: `https://127.0.0.1:${server.port}` });
    const pool = pools.pool('abort tls', connection);
    const heard = exchange(pool, connection);
    await until(() => server.sockets.length > 0);
    heard.abort();
    await until(() => server.sockets[0]?.destroyed === true && pool.size === 0, 100);
    expect(heard).toMatchObject({ ended: 0, errors: [] });
  });

  test('while the name is looked up', async () => {
    let answerLookup: () => void = () => undefined;
    await using server = await scriptedUpstream(() => undefined);
    const slow = new Pools({
      rules: { allowLoopback: true },
      lookup: (_name, _options, callback) => {
        answerLookup = () => callback(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const connection = connectionTo(1, { baseURL: `http://models.example:${server.port}` });
    const pool = slow.pool('n', connection);
    const heard = exchange(pool, connection);
    heard.abort();
    await until(() => pool.size === 0, 100);
    answerLookup();
    await sleep(20);
    expect(server.sockets).toHaveLength(0);
    expect(heard).toMatchObject({ ended: 0, errors: [] });
    await slow.destroy();
  });

  test('from within onResponse and onData', async () => {
    await using server = await scriptedUpstream((socket) => void socket.write(answer('body')));
    const connection = connectionTo(server.port);
    const pool = pools.pool('abort inside', connection);
    const first = exchange(pool, connection, chat, { onResponse: (heard) => heard.abort() });
    const second = exchange(pool, connection, chat, { onData: (heard) => heard.abort() });
    await until(() => server.sockets.length === 2 && pool.size === 0);
    await sleep(20);
    expect(first).toMatchObject({ status: 200, body: '', ended: 0, errors: [] });
    expect(second).toMatchObject({ body: 'body', ended: 0, errors: [] });
  });

  test('after the end does nothing to the connection', async () => {
    await using server = await scriptedUpstream((socket) => void socket.write(answer('body')));
    const connection = connectionTo(server.port);
    const pool = pools.pool('abort late', connection);
    const heard = exchange(pool, connection);
    await heard.finished;
    heard.abort();
    await sleep(20);
    expect(server.sockets[0]?.destroyed).toBe(false);
    await exchange(pool, connection).finished;
    expect(server.sockets).toHaveLength(1);
  });
});

describe.concurrent('backpressure', () => {
  test('a paused reader stops the sender, and gets every byte when it goes on', async () => {
    const total = 64 * 1024 * 1024;
    const piece = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    await using server = await scriptedUpstream((socket) => {
      socket.write(`${head}content-length: ${total}\r\n\r\n`);
      const write = (): void => {
        while (written < total) {
          written += piece.length;
          if (!socket.write(piece)) return void socket.once('drain', write);
        }
      };
      write();
    });
    const connection = connectionTo(server.port);
    let bytes = 0;
    const heard = exchange(pools.pool('paused', connection), connection, chat, {
      onData: (all, chunk) => {
        bytes += chunk.length;
        all.chunks.length = 0;
        if (bytes === chunk.length) all.control?.pause();
      },
    });
    await until(() => bytes > 0);
    let before = -1;
    await until(() => {
      const still = written === before;
      before = written;
      return still;
    });
    await sleep(50);
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    // What the two kernels hold on loopback; far from the whole.
    expect(written).toBeLessThan(16 * 1024 * 1024);
    heard.control?.resume();
    await heard.finished;
    expect(heard).toMatchObject({ ended: 1, errors: [] });
    expect(bytes).toBe(total);
  });

  test.each([
    { since: 'a late head', timeouts: { firstByteSeconds: 3, idleSeconds: 0.3 }, pieces: 1 },
    { since: 'the last piece', timeouts: { firstByteSeconds: 3, idleSeconds: 1 }, pieces: 8 },
    { since: 'the last piece, late', timeouts: { firstByteSeconds: 1, idleSeconds: 1.5 }, pieces: 3 },
  ])('silence since $since is timed from then: never short, noticed soon', async ({ timeouts, pieces }) => {
    let last = 0;
    await using server = await scriptedUpstream(async (socket) => {
      for (let piece = 0; piece < pieces; piece += 1) {
        if (piece > 0 || timeouts.firstByteSeconds > timeouts.idleSeconds) await sleep(200);
        last = performance.now();
        socket.write(piece === 0 ? chunked : '1\r\na\r\n');
      }
    });
    const connection = connectionTo(server.port, { timeouts });
    const heard = exchange(pools.pool(`silence ${server.port}`, connection), connection);
    await heard.finished;
    const silence = performance.now() - last;
    expect(heard.errors).toMatchObject([{ code: 'idle_timeout', answered: true }]);
    expect(heard.chunks).toHaveLength(pieces - 1);
    expect(silence).toBeGreaterThanOrEqual(timeouts.idleSeconds * 1000);
    // Looked at four times a second.
    expect(silence).toBeLessThan(timeouts.idleSeconds * 1000 + 2_500);
  });

  test('each request has its own times on one pool, whichever came first', async () => {
    await using server = await scriptedUpstream(() => undefined);
    const short = connectionTo(server.port, { timeouts: { firstByteSeconds: 0.2 } });
    const long = connectionTo(server.port, { timeouts: { firstByteSeconds: 1.2 } });
    const pool = pools.pool('own times', long);
    const began = performance.now();
    const endOf = async (connection: UpstreamConnection) => {
      const heard = exchange(pool, connection);
      await heard.finished;
      expect(heard.errors).toMatchObject([{ code: 'first_byte_timeout' }]);
      return performance.now() - began;
    };
    const [first, second, third] = await Promise.all([endOf(long), endOf(short), endOf(long)]);
    expect(second).toBeLessThan(first);
    for (const late of [first, third]) expect(late).toBeGreaterThanOrEqual(1_200);
  });

  test('after a pause silence is timed from its end', async () => {
    await using server = await scriptedUpstream((socket) => void socket.write(chunked));
    const connection = connectionTo(server.port, { timeouts: { idleSeconds: 0.6 } });
    let resumed = 0;
    const heard = exchange(pools.pool('resumed', connection), connection, chat, {
      onResponse: (all) => {
        all.control?.pause();
        void sleep(1_000).then(() => {
          resumed = performance.now();
          all.control?.resume();
        });
      },
    });
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'idle_timeout', answered: true }]);
    expect(performance.now() - resumed).toBeGreaterThanOrEqual(600);
  });

  test('a pause is not silence: the idle timeout waits, the total one does not', async () => {
    await using server = await scriptedUpstream((socket) => void socket.write(chunked));
    const connection = connectionTo(server.port, { timeouts: { idleSeconds: 0.1, totalSeconds: 1.5 } });
    const heard = exchange(pools.pool('paused idle', connection), connection, chat, {
      onResponse: (all) => all.control?.pause(),
    });
    await heard.finished;
    expect(heard.errors).toMatchObject([{ code: 'total_timeout', answered: true }]);
  });
});
