import { connect, type Socket } from 'node:net';
import { rawExchange } from '../support/raw-http.ts';
import type { Served } from './served.ts';

/** A request as text; `more` are header lines. */
export function requestText(
  served: Served,
  options: {
    model?: string;
    more?: readonly string[];
    body?: string;
    stream?: boolean;
    method?: string;
    path?: string;
  } = {},
): string {
  const { model = 'honest', more = [], method = 'POST', path = '/v1/chat/completions' } = options;
  const body = options.body ?? JSON.stringify({ model, messages: [], stream: options.stream ?? false });
  const length = more.some((line) => /^(?:content-length|transfer-encoding)/i.test(line))
    ? []
    : [`content-length: ${Buffer.byteLength(body)}`];
  const lines = [`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${served.key}`];
  return [...lines, 'content-type: application/json', ...length, ...more, '', body].join('\r\n');
}

/** Sends these bytes on a connection of their own; answers what came back until it was closed or silent for `quietMs`. */
export function exchange(served: Served, bytes: string | Buffer, quietMs = 1_000): Promise<string> {
  return rawExchange(served.process.port, bytes, quietMs);
}

/** Opens many connections, a hundred at a time, and sends `bytes` on each; answers those that stand. */
export async function openMany(served: Served, count: number, bytes = ''): Promise<Socket[]> {
  const sockets: Socket[] = [];
  const one = () =>
    new Promise<void>((resolve) => {
      const socket = connect(served.process.port, '127.0.0.1');
      socket.once('connect', () => {
        sockets.push(socket);
        if (bytes !== '') socket.write(bytes);
        resolve();
      });
      socket.on('error', () => resolve());
    });
  for (let opened = 0; opened < count; opened += 100) {
    await Promise.all(Array.from({ length: Math.min(100, count - opened) }, one));
  }
  return sockets;
}

/** The status lines in a text of answers. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}
