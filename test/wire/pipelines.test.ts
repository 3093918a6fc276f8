import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTlsPair } from '../../src/tls/tls-pair.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import { tlsFile, tlsText } from '../support/tls-file.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

// Several pipelined requests on one connection, followed by bytes that are no request.
let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;
const lingerMs = 400;

beforeEach(async () => {
  gateway = await startGateway({ limits: { headersMs: 300, lingerMs, queuedRequests: 40 } });
  upstream = await gateway.addNode('n', { upstream: { chunks: 10, chunkDelayMilliseconds: 80 } });
});
afterEach(async () => {
  await eventually('nothing is left', async () => gateway.gateway.inFlight() === 0, 5000, 20);
  expect(gateway.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  await gateway.close();
});

const head = (fields: readonly string[]): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${gateway.key}`,
    ...fields,
    '',
    '',
  ].join('\r\n');
const post = (body: string): string => head([`content-length: ${body.length}`]) + body;
const plain = () => post('{"model":"m","messages":[]}');
const stream = () => post('{"model":"m","messages":[],"stream":true}');
const broken = () => post('{"model":');

const isGone = ({ clientGoneTime }: { clientGoneTime: number | undefined }) => clientGoneTime !== undefined;

/** Statuses of the answers on one connection, in order. */
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Waits until what came back on a connection since this call holds what is needed. */
async function readUntil(socket: Socket, what: string, isEnough: (text: string) => boolean): Promise<void> {
  let text = '';
  const read = (piece: Buffer) => (text += piece.toString('latin1'));
  socket.on('data', read);
  await eventually(what, async () => isEnough(text), 10_000, 5);
  socket.off('data', read);
}

describe('what is no HTTP', () => {
  const endings: [name: string, status: number, ending: () => string][] = [
    ['garbage', 400, () => 'garbage\r\n\r\n'],
    ['a long line', 400, () => `1;${'e'.repeat(18_000)}\r\na\r\n`],
    ['a broken chunk', 400, () => `${head(['transfer-encoding: chunked'])}zz\r\n`],
    ['a head that is too large', 431, () => head([`x: ${'y'.repeat(40_000)}`])],
    ['a head that never ends', 408, () => 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n'],
  ];

  test.each(endings)('%s is refused behind the answers that are owed', async (_name, status, ending) => {
    const text = await rawExchange(gateway.port, broken() + plain() + broken() + ending(), 10_000);
    expect(statuses(text)).toEqual([400, 200, 400, status]);
    expect(text.match(/^connection: close$/gim)).toHaveLength(1);
  });

  test.each(endings)('%s does not cut the stream before it', async (_name, status, ending) => {
    const text = await rawExchange(
      gateway.port,
      async (socket) => {
        socket.write(stream());
        await delay(150);
        socket.write(ending());
      },
      10_000,
    );
    expect(statuses(text)).toEqual([200, status]);
    expect(text).toMatch(/data: \[DONE\]\n\n\r\n0\r\n\r\nHTTP/);
    expect(upstream.requests).toHaveLength(1);
  });

  test.each(['end', 'destroy'] as const)(
    'a caller that leaves by %s is noticed behind it, and its stream is ended',
    async (leave) => {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(`${stream()}garbage\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.write('garbage');
      socket[leave]();
      await upstream.waitFor(([request]) => request?.clientGoneTime !== undefined, 400);
    },
  );
});

test('a CONNECT ends the requests before it on the connection, and none of them continues', async () => {
  const connecting = 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n';
  const text = await rawExchange(
    gateway.port,
    async (socket) => {
      socket.write(stream() + plain() + stream() + plain());
      await readUntil(socket, 'the stream has begun', (text) => text.includes('data: '));
      socket.write(connecting);
    },
    10_000,
  );
  expect(statuses(text)).toEqual([200]);
  expect(text).not.toContain('[DONE]');
  await eventually('all are over', async () => gateway.done.length === 4, 5000, 20);
  expect(gateway.done.map(({ status }) => status)).toEqual([499, 499, 499, 499]);
});

test('many requests at once are answered in order, time after time, without a warning', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  const last = post('{"model":"m","messages":[]}').replace('host: x', 'host: x\r\nconnection: close');
  const text = await rawExchange(
    gateway.port,
    async (socket) => {
      for (let round = 0; round < 5; round++) {
        socket.write((plain() + broken()).repeat(15));
        await readUntil(socket, 'all of a round are answered', (text) => statuses(text).length === 30);
      }
      socket.write(last);
    },
    10_000,
  );
  process.off('warning', warned);
  expect(statuses(text)).toEqual([...Array.from({ length: 75 }, () => [200, 400]).flat(), 200]);
  expect(warnings).toEqual([]);
});

test('a request begins when the one before it is answered', async () => {
  upstream.respondWith('/chat/completions', (_request, count) =>
    count === 0 ? { kind: 'slowFirstByte', milliseconds: 300 } : { kind: 'hang' },
  );
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(plain().repeat(20));
  await eventually('all have arrived', async () => gateway.gateway.inFlight() === 20, 5000, 5);
  await delay(100);
  expect(upstream.requests).toHaveLength(1);
  await readUntil(socket, 'the first is answered', (text) => statuses(text).length === 1);
  await upstream.waitFor((requests) => requests.length === 2);
  await delay(100);
  expect(upstream.requests).toHaveLength(2);
  socket.destroy();
});

test('a connection with too many waiting requests is closed, and all of them end', async () => {
  upstream.respondWith('/chat/completions', { kind: 'hang' });
  const text = await rawExchange(gateway.port, plain().repeat(42), 10_000);
  expect(text).toBe('');
  await eventually('all are over', async () => gateway.done.length === 42, 5000, 20);
  await eventually('at the node too', async () => upstream.requests.every(isGone), 5000, 20);
  gateway.done.length = 0;
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(plain().repeat(41));
  await eventually('as many as may wait do', async () => gateway.gateway.inFlight() === 41, 5000, 20);
  await delay(100);
  expect(gateway.done).toEqual([]);
  socket.destroy();
});

describe('a refused caller', () => {
  test('that goes on sending gets to read why', async () => {
    const text = await rawExchange(gateway.port, async (socket) => {
      socket.pause();
      for (let sent = 0; sent < 30; sent++) {
        socket.write(`${'garbage '.repeat(20_000)}\r\n\r\n`);
        await delay(5);
      }
      socket.resume();
    });
    expect(statuses(text)).toEqual([400]);
    expect(text).toMatch(/"message":"The request is not valid HTTP\/1.1."/);
  });

  test.each([
    ['sends', 'more'],
    ['is silent', ''],
  ])('that keeps its side open and %s is let go', async (_name, more) => {
    const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    await eventually('sockets of other tests are closed', async () => open() === 0, 5000, 20);
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.write('garbage\r\n\r\n');
    await new Promise((resolve) => socket.resume().once('end', resolve));
    const began = performance.now();
    const writing = setInterval(() => socket.writable && socket.write(more), 20);
    expect(open()).toBe(2);
    await eventually('the gateway has closed its end', async () => open() === 1, lingerMs * 10, 20);
    clearInterval(writing);
    expect(performance.now() - began).toBeGreaterThan(lingerMs / 2);
    socket.destroy();
  });
});

describe('behind an answer that closes the connection', () => {
  const last = (line: string, field = 'x: y') =>
    plain().replace('POST /v1/chat/completions HTTP/1.1', line).replace('host: x', `host: x\r\n${field}`);
  const lastRequests: [name: string, request: () => string, status: number][] = [
    ['connection: close', () => last('POST /v1/chat/completions HTTP/1.1', 'connection: close'), 200],
    ['HTTP/1.0', () => last('POST /v1/chat/completions HTTP/1.0'), 200],
    ['a refusal', () => last('POST /v1/nothing HTTP/1.0'), 404],
  ];

  /** What a caller reads who sends more and reads only then, and whether its connection was reset. */
  const sendOn = async (socket: Socket, request: string) => {
    let [text, reset] = ['', false];
    socket.on('error', () => (reset = true));
    socket.write(request);
    await delay(150);
    for (let more = 0; more < 3; more++) {
      socket.write('y'.repeat(40_000));
      await delay(20);
    }
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    await eventually('it is closed', async () => socket.readableEnded || socket.closed, 5000, 5);
    return { text, reset };
  };

  test.each(lastRequests)('what is sent does not cost the answer: %s', async (_name, request, status) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    const { text, reset } = await sendOn(socket, request());
    expect({ statuses: statuses(text), reset }).toEqual({ statuses: [status], reset: false });
    // A caller that never closes is not waited for.
    await eventually('it is cut off', async () => {
      socket.write('y');
      return socket.destroyed;
    });
  });

  test('the same with TLS', async () => {
    const tls = await readTlsPair({ cert: tlsFile('server1.crt'), key: tlsFile('server1.key') });
    await gateway.close();
    gateway = await startGateway({ limits: { lingerMs }, tls });
    const secure = { port: gateway.port, ca: tlsText('ca1.crt'), allowHalfOpen: true };
    const socket = connectTls(secure);
    const { text, reset } = await sendOn(socket, last('POST /v1/nothing HTTP/1.0'));
    expect({ statuses: statuses(text), reset }).toEqual({ statuses: [404], reset: false });
    socket.destroy();
  });

  test('no request is asked of a node, and what waited is ended', async () => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.on('data', (piece) => (text += piece.toString('latin1')));
    upstream.respondWith('/chat/completions', { kind: 'slowFirstByte', milliseconds: 300 });
    socket.write(plain() + plain());
    await upstream.waitFor((requests) => requests.length === 1);
    const drained = gateway.gateway.drain(5000, 1000);
    await eventually('the first is answered', async () => text !== '', 5000, 5);
    expect(text).toMatch(/^connection: close$/im);
    socket.write(plain());
    await eventually('the second is over', async () => gateway.gateway.inFlight() === 0, lingerMs / 2, 5);
    await delay(100);
    expect(upstream.requests).toHaveLength(1);
    socket.destroy();
    await drained;
    expect(statuses(text)).toEqual([200]);
  });
});
