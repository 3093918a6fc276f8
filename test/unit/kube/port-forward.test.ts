import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { SharedKubeConfig } from '../../../src/kube/kubeconfig.ts';
import { forwardPort } from '../../../src/kube/port-forward.ts';

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const step of cleanup.splice(0)) step();
});

/** An API server that forwards to `port`, in the frames of `v4.channel.k8s.io`: data is channel 0, errors channel 1. */
async function apiServer(port: number, asked: IncomingMessage[]): Promise<SharedKubeConfig> {
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    asked.push(request);
    if (request.headers.authorization !== 'Bearer good') {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const protocol = request.headers['sec-websocket-protocol']?.split(',')[0] ?? '';
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${protocol}\r\n\r\n`,
    );
    const pod = connect(port, '127.0.0.1');
    for (const channel of [0, 1]) socket.write(frame(Buffer.from([channel, port & 255, port >> 8])));
    pod.on('data', (data) => socket.write(frame(Buffer.concat([Buffer.from([0]), data]))));
    pod.on('close', () => socket.end(Buffer.from([0x88, 0])));
    let rest = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      rest = Buffer.concat([rest, data]);
      for (;;) {
        const read = unframe(rest);
        if (read === undefined) return;
        rest = Buffer.from(read.rest);
        if (read.opcode === 8) pod.end();
        else pod.write(read.payload.subarray(1));
      }
    });
    socket.on('error', () => pod.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  const config = new SharedKubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'test',
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      skipTLSVerify: true,
    },
    { name: 'test', token: 'good' },
  );
  return config;
}

function frame(payload: Buffer): Buffer {
  const head =
    payload.length < 126
      ? Buffer.from([0x82, payload.length])
      : Buffer.from([0x82, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}

function unframe(bytes: Buffer): { opcode: number; payload: Buffer; rest: Buffer } | undefined {
  if (bytes.length < 6) return undefined;
  const short = (bytes[1] ?? 0) & 127;
  const [length, at] =
    short < 126
      ? [short, 2]
      : short === 126
        ? [bytes.readUInt16BE(2), 4]
        : [Number(bytes.readBigUInt64BE(2)), 10];
  if (bytes.length < at + 4 + length) return undefined;
  const mask = bytes.subarray(at, at + 4);
  const payload = Buffer.from(
    bytes.subarray(at + 4, at + 4 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)),
  );
  return { opcode: (bytes[0] ?? 0) & 15, payload, rest: bytes.subarray(at + 4 + length) };
}

/** A pod that answers each line in capitals and closes after `bye`. */
async function pod(): Promise<number> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (data: Buffer) => {
      text += data;
    });
    request.on('end', () => response.end(text.toUpperCase()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('requests and answers pass, connection by connection, to the port of the pod that was asked for', async () => {
  const port = await pod();
  const asked: IncomingMessage[] = [];
  const stop = new AbortController();
  const config = await apiServer(port, asked);
  const forwarded = await forwardPort(config, { namespace: 'home', name: 'gateway-0', port }, stop.signal);
  const text = 'a long request '.repeat(2_000);
  for (const body of ['short', text]) {
    const answer = await fetch(`http://127.0.0.1:${forwarded.port}/`, {
      method: 'POST',
      body,
      headers: { connection: 'close' },
    });
    expect(await answer.text()).toBe(body.toUpperCase());
  }
  expect(asked.map(({ url }) => url)).toEqual(
    Array(2).fill(`/api/v1/namespaces/home/pods/gateway-0/portforward?ports=${port}`),
  );
  expect(forwarded.failure()).toBeUndefined();
  stop.abort();
  await expect(fetch(`http://127.0.0.1:${forwarded.port}/`)).rejects.toThrow();
});

test('what the API server refuses is reset, and the reason is kept', async () => {
  const stop = new AbortController();
  cleanup.push(() => stop.abort());
  const config = await apiServer(await pod(), []);
  config.loadFromClusterAndUser(config.getCurrentCluster() ?? { name: '', server: '', skipTLSVerify: true }, {
    name: 'test',
    token: 'bad',
  });
  const forwarded = await forwardPort(config, { namespace: 'home', name: 'gateway-0', port: 1 }, stop.signal);
  const socket: Socket = connect(forwarded.port, '127.0.0.1');
  await new Promise((resolve) => socket.on('error', resolve).on('close', resolve));
  await expect.poll(() => forwarded.failure()).toBe('the API server answered 403');
});
