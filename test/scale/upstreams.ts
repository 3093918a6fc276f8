import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { modelNames, nodeIndexOf } from './population.ts';

/** What was seen at the model servers since `reset`. */
export interface Seen {
  /** When each host was asked for its models, in milliseconds of `performance.now`. */
  readonly contacts: ReadonlyMap<string, readonly number[]>;
  /** Most questions for models that were under way at one time. */
  readonly mostAtOnce: number;
  /** The same with one host. */
  readonly mostAtOneHost: number;
  /** Most connections that were open at one time. */
  readonly mostConnections: number;
}

/** A thousand model servers in one: each node has an address of 127.0.0.0/8 of its own (Linux). */
export interface Upstreams {
  readonly port: number;
  /** Models that each lists from now on. */
  models(count: number): void;
  /** Whether each answers 503 from now on. */
  fail(fails: boolean): void;
  reset(): void;
  seen(): Seen;
  stop(): void;
}

/** How long a listing takes: with none, no two would ever be seen at one time. */
const answerMs = 20;
const chatAnswer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-scale',
    object: 'chat.completion',
    created: 1_750_000_000,
    model: 'scale',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
);

/** Starts them on a port of all loopback addresses; 0 takes a free one. @throws when the port is taken */
export async function startUpstreams(port: number, modelsPerNode: number): Promise<Upstreams> {
  const sockets = new Set<Socket>();
  const listings = new Map<string, Buffer>();
  let count = modelsPerNode;
  let fails = false;
  let contacts = new Map<string, number[]>();
  let atHost = new Map<string, number>();
  let under = 0;
  let most = { atOnce: 0, atOneHost: 0, connections: 0 };

  const listing = (host: string): Buffer => {
    const known = listings.get(host);
    if (known !== undefined) return known;
    const data = modelNames(nodeIndexOf(host), count).map((id) => ({ id, object: 'model' }));
    const made = Buffer.from(JSON.stringify({ object: 'list', data }));
    listings.set(host, made);
    return made;
  };
  const list = (host: string, response: ServerResponse) => {
    const times = contacts.get(host) ?? [];
    times.push(performance.now());
    contacts.set(host, times);
    const ofHost = (atHost.get(host) ?? 0) + 1;
    atHost.set(host, ofHost);
    under += 1;
    most.atOnce = Math.max(most.atOnce, under);
    most.atOneHost = Math.max(most.atOneHost, ofHost);
    setTimeout(() => {
      under -= 1;
      atHost.set(host, (atHost.get(host) ?? 1) - 1);
      if (fails) return answer(response, 503, Buffer.from('{"error":{"message":"down"}}'));
      answer(response, 200, listing(host));
    }, answerMs);
  };
  const server = createServer((request: IncomingMessage, response) => {
    const host = request.socket.localAddress ?? '';
    request.resume();
    if (request.method === 'GET') list(host, response);
    else request.on('end', () => answer(response, 200, chatAnswer));
  });
  server.keepAliveTimeout = 120_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    most.connections = Math.max(most.connections, sockets.size);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '0.0.0.0', backlog: 2_048 }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    models(next) {
      count = next;
      listings.clear();
    },
    fail(next) {
      fails = next;
    },
    reset() {
      contacts = new Map();
      atHost = new Map();
      most = { atOnce: 0, atOneHost: 0, connections: sockets.size };
    },
    seen: () => ({
      contacts,
      mostAtOnce: most.atOnce,
      mostAtOneHost: most.atOneHost,
      mostConnections: most.connections,
    }),
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function answer(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}
