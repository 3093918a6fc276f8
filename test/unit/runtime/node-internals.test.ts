import { once } from 'node:events';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { getHeapStatistics } from 'node:v8';
import { expect, onTestFinished, test } from 'vitest';
import {
  chunkOf,
  collectAll,
  collectYoung,
  connectionBelowTls,
  currentResponse,
  freeBuffer,
  keepObjectsYoung,
  onLastAnswer,
  setHeapGrowth,
  socketForChunk,
  stopListening,
} from '../../../src/runtime/node-internals.ts';
import { upstreamCertificate } from '../../support/upstream-certificates.ts';

async function listening(answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

async function get(port: number, agent?: Agent): Promise<string> {
  const sent = request({ host: '127.0.0.1', port, agent }).end();
  const [answer] = await once(sent, 'response');
  let text = '';
  for await (const piece of answer) text += piece;
  return text;
}

test('node:http keeps the response that may write on its socket', async () => {
  const seen: boolean[] = [];
  const { port } = await listening((response) => {
    seen.push(response.socket !== null && currentResponse(response.socket) === response);
    response.end();
  });
  await get(port);
  expect(seen).toEqual([true]);
});

test('the bare connection can be written to when a TLS handshake was plain HTTP', async () => {
  const server = createTlsServer(upstreamCertificate('server'));
  server.on('tlsClientError', (_error, socket) => {
    connectionBelowTls(socket)?.write('plain words');
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const [words] = await once(socket, 'data');
  expect(String(words)).toBe('plain words');
});

test('node:http calls destroySoon behind an answer that closes its connection', async () => {
  const closed: Socket[] = [];
  const { port } = await listening((response) => {
    if (response.socket !== null)
      onLastAnswer(response.socket, (socket) => {
        closed.push(socket);
        socket.destroy();
      });
    response.setHeader('connection', 'close');
    response.end('last');
  });
  expect(await get(port)).toBe('last');
  expect(closed).toHaveLength(1);
});

test('a server that stopped listening answers on idle connections', async () => {
  const { server, port } = await listening((response) => response.end('here'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  expect(await get(port, agent)).toBe('here');
  stopListening(server);
  expect(await get(port, agent)).toBe('here');
  await expect(get(port)).rejects.toThrow('ECONNREFUSED');
});

test('chunks written to the socket and by node:http make one answer', async () => {
  const direct: boolean[] = [];
  const { port } = await listening((response) => {
    direct.push(socketForChunk(response, 0) !== null);
    response.write('first ');
    setTimeout(() => {
      const socket = socketForChunk(response, 6);
      direct.push(socket !== null);
      socket?.write(chunkOf(Buffer.from('second '.repeat(100))));
      response.write('third ');
      direct.push(socketForChunk(response, 6) !== null && response.writableLength > 0);
      response.end('last');
      direct.push(socketForChunk(response, 6) !== null);
    }, 20);
  });
  expect(await get(port)).toBe(`first ${'second '.repeat(100)}third last`);
  expect(direct).toEqual([false, true, false, false]);
});

test('freed memory is gone at once; a part of a larger memory is left alone', () => {
  const own = new Uint8Array(64 * 1024).fill(7);
  freeBuffer(own);
  expect(own.byteLength).toBe(0);
  const part = Buffer.from(new ArrayBuffer(64 * 1024), 0, 32 * 1024);
  freeBuffer(part);
  expect(part.byteLength).toBe(32 * 1024);
});

test('collections can be asked for, the young one without the old', () => {
  let held: unknown[] | undefined = Array.from({ length: 200_000 }, (_, i) => ({ i }));
  const full = getHeapStatistics().used_heap_size;
  expect(held).toHaveLength(200_000);
  held = undefined;
  collectYoung();
  collectAll();
  expect(getHeapStatistics().used_heap_size).toBeLessThan(full);
  expect('gc' in globalThis).toBe(false);
});

test('V8 knows the flags that are set', () => {
  // An unknown flag is written to stderr as an error and otherwise ignored.
  const { execFileSync } = process.getBuiltinModule('node:child_process');
  const help = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const flag of ['heap-growing-percent', 'allocation-site-pretenuring', 'expose-gc'])
    expect(help).toContain(`--${flag}`);
  setHeapGrowth(0);
  keepObjectsYoung();
});
