import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTLSServer, type TlsOptions } from 'node:tls';

/** A model server that says exactly what a test tells it to, byte by byte. */
export interface ScriptedUpstream extends AsyncDisposable {
  readonly port: number;
  /** Every connection that was accepted, oldest first. */
  readonly sockets: readonly Socket[];
  /** Every request that came, head and body as text, in order of arrival. */
  readonly requests: readonly string[];
}

/**
 * Listens on a free loopback port. `onRequest` runs once for each complete request (by Content-Length) with
 * the socket, the number of the connection and the number of the request on it, both from 0.
 */
export async function scriptedUpstream(
  onRequest: (socket: Socket, connection: number, request: number, text: string) => void,
  options: { readonly tls?: TlsOptions; readonly host?: string } = {},
): Promise<ScriptedUpstream> {
  const sockets: Socket[] = [];
  const requests: string[] = [];
  const accept = (socket: Socket): void => {
    const connection = sockets.push(socket) - 1;
    let count = 0;
    let buffered = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      buffered += chunk.toString('latin1');
      for (;;) {
        const end = requestEnd(buffered);
        if (end === -1) return;
        const text = buffered.slice(0, end);
        buffered = buffered.slice(end);
        requests.push(text);
        onRequest(socket, connection, count, text);
        count += 1;
      }
    });
  };
  const server: Server = options.tls
    ? createTLSServer(options.tls, accept).on('tlsClientError', () => undefined)
    : createServer(accept);
  await new Promise<void>((resolve) => server.listen(0, options.host ?? '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function requestEnd(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return -1;
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  const end = head + 4 + length;
  return text.length >= end ? end : -1;
}

/** A complete answer with a Content-Length. */
export function answer(body: string, head = 'HTTP/1.1 200 OK', ...fields: readonly string[]): string {
  return [head, ...fields, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}
