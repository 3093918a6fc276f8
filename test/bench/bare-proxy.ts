// The limit in Node.js that the gateway is measured against: `node bare-proxy.ts PORT UPSTREAM_ORIGIN`.
// It does what any proxy of this kind has to do (read the whole body, parse it, look at `model`, forward, stream back with
// backpressure, cancel when the caller leaves) by the shortest way that node:http and undici offer, and nothing else.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import process from 'node:process';
import { type Dispatcher, Pool } from 'undici';

const [port = '0', origin = ''] = process.argv.slice(2);
const pool = new Pool(origin, {
  connections: null,
  pipelining: 1,
  headersTimeout: 120_000,
  bodyTimeout: 120_000,
});

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    let parsed: unknown;
    try {
      parsed = JSON.parse(body.toString('utf8'));
    } catch {
      response.writeHead(400).end();
      return;
    }
    if (typeof (parsed as { model?: unknown } | null)?.model !== 'string') response.writeHead(400).end();
    else forward(request, response, body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1', 4096);
process.once('SIGTERM', () => process.exit(0));

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    authorization: 'Bearer upstream',
  };
  if (request.headers.accept !== undefined) headers['accept'] = request.headers.accept;
  pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, new Forwarding(response));
}

class Forwarding implements Dispatcher.DispatchHandler {
  #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const response = this.#response;
    response.on('close', () => {
      if (!response.writableFinished) controller.abort(new Error('the caller left'));
    });
    response.on('drain', () => controller.resume());
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const back: Record<string, string | string[]> = {};
    for (const name of ['content-type', 'content-length']) {
      const value = headers[name];
      if (value !== undefined) back[name] = value;
    }
    this.#response.writeHead(status, back);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.#response.write(bytes)) controller.pause();
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}
