import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** One request of the agent and the gateway's answer to it. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly status: number;
  readonly answered: IncomingHttpHeaders;
  /** The whole answer; empty while it runs. */
  answer: string;
}

/** Stands between the agent and the gateway, passes every byte on as it comes and keeps what passed. */
export interface Tap extends AsyncDisposable {
  readonly port: number;
  readonly exchanges: readonly Exchange[];
}

/** Starts it on a free port of loopback, in front of another port of loopback. */
export async function startTap(gatewayPort: number): Promise<Tap> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const copy = request.pipe(new PassThrough());
    const body = text(copy);
    const onward = httpRequest({ host: '127.0.0.1', port: gatewayPort, method, path: url, headers });
    response.on('close', () => onward.destroy());
    onward.on('error', () => response.destroy());
    onward.on('response', async (answer) => {
      const status = answer.statusCode ?? 0;
      const exchange: Exchange = {
        method,
        url,
        headers,
        body: await body,
        status,
        answered: answer.headers,
        answer: '',
      };
      exchanges.push(exchange);
      const seen = answer.pipe(new PassThrough());
      void text(seen).then(
        (whole) => {
          exchange.answer = whole;
        },
        () => undefined,
      );
      response.writeHead(status, answer.rawHeaders);
      pipeline(answer, response).catch(() => undefined);
    });
    pipeline(request, onward).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    exchanges,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
