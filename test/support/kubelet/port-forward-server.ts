import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { tlsText } from '../tls-file.ts';
import { acceptChannels } from './channel-socket.ts';
import { type SpdyStream, serveSpdy } from './spdy.ts';

const connectMs = 5_000;

/** The part of a kubelet that forwards ports: where an API server finds it, and what came through. */
export interface PortForwardServer extends AsyncDisposable {
  readonly port: number;
  /** The status of a Node whose kubelet this is. */
  readonly nodeStatus: object;
  /** `POD:PORT by PROTOCOL` of each connection that was forwarded, in the order in which they came. */
  readonly forwarded: readonly string[];
  stop(): Promise<void>;
}

/**
 * Serves `/portForward/NAMESPACE/POD` on a free loopback port with TLS, in both ways that a kubelet knows: SPDY, which
 * kubectl speaks (through the API server), and the older channels over WebSocket, which go on from the API server as they
 * are. `addressOf` answers a pod's own loopback address; undefined where no such pod runs.
 */
export async function startPortForwardServer(
  addressOf: (namespace: string, pod: string) => string | undefined,
): Promise<PortForwardServer> {
  const server = createServer({ cert: tlsText('server1.crt'), key: tlsText('server1.key') });
  const forwarded: string[] = [];
  const open = new Set<Duplex>();

  server.on('upgrade', (request: IncomingMessage, wire: Duplex, head: Buffer) => {
    open.add(wire);
    wire.on('close', () => open.delete(wire));
    wire.unshift(head);
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://kubelet');
    const [, verb, namespace = '', pod = ''] = pathname.split('/');
    const host = addressOf(namespace, pod);
    if (verb !== 'portForward' || host === undefined) {
      wire.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const isSpdy = request.headers.upgrade?.toLowerCase() === 'spdy/3.1';
    const to = (port: string): Promise<Socket> => {
      forwarded.push(`${pod}:${port} by ${isSpdy ? 'SPDY' : 'WebSocket'}`);
      return connected(host, Number(port));
    };
    const port = searchParams.get('port') ?? '';
    void (isSpdy ? bySpdy(request, wire, to) : forwardByChannels(request, wire, port, to)).catch(() =>
      wire.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    for (const wire of open) wire.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    port,
    forwarded,
    nodeStatus: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Each connection is a stream of data and one of errors, which name the same request. */
async function bySpdy(
  request: IncomingMessage,
  wire: Duplex,
  to: (port: string) => Promise<Socket>,
): Promise<void> {
  const [protocol = ''] = [request.headers['x-stream-protocol-version']].flat();
  wire.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\nx-stream-protocol-version: ${protocol}\r\n\r\n`,
  );
  const waiting = new Map<string, SpdyStream>();
  await serveSpdy(wire, (stream) => {
    const id = stream.headers.get('requestid') ?? '';
    const other = waiting.get(id);
    if (other === undefined) return void waiting.set(id, stream);
    waiting.delete(id);
    const [data, errors] = stream.headers.get('streamtype') === 'data' ? [stream, other] : [other, stream];
    const port = data.headers.get('port') ?? '';
    to(port).then(
      async (socket) => {
        await copy(data, socket);
        errors.end();
      },
      (error: unknown) => {
        errors.end(refusal(port, error));
        data.end();
      },
    );
  });
}

/** A port has two channels, 0 for data and 1 for errors; each begins with the port itself. Never throws. */
export async function forwardByChannels(
  request: IncomingMessage,
  wire: Duplex,
  port: string,
  to: (port: string) => Promise<Socket>,
): Promise<void> {
  const socket = acceptChannels(request, wire);
  if (socket === undefined) return;
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(Number(port));
  for (const channel of [0, 1]) socket.say(channel, bytes);
  try {
    await copy(socket.data, await to(port));
  } catch (error) {
    socket.say(1, Buffer.from(refusal(port, error)));
  }
  socket.close();
}

/** As a kubelet words it. */
const refusal = (port: string, error: unknown): string =>
  `error forwarding port ${port} to pod, uid : ${String(error)}`;

/** A connection to a pod's port. */
export function connected(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true, timeout: connectMs });
    socket.once('connect', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
  });
}

/** Until both directions have ended, or one has broken. */
async function copy(one: Duplex, other: Duplex): Promise<void> {
  await Promise.all([pipeline(one, other), pipeline(other, one)]).catch(() => {
    one.destroy();
    other.destroy();
  });
}
