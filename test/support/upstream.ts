import { randomInt } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { pathBelowVersion } from './upstream-answers.ts';
import { type Behaviour, play } from './upstream-behaviours.ts';
import type { AnswerOptions, Exchange, ReceivedRequest } from './upstream-exchange.ts';

/**
 * Below the ports that systems hand out by themselves (from 32,768 or 49,152): while a server is paused another test's would get its
 * port, and answer in its place.
 */
const lowestPort = 10_000;
const ports = 10_000;

export interface UpstreamOptions extends Partial<AnswerOptions> {
  /** Credential that every request must carry in any of the three headers; others get 401. Absent: all are let in. */
  apiKey?: string;
  /** PEM key and certificate: speak TLS. */
  tls?: { key: string; cert: string };
  /** Port to listen on; default 0, any free one. */
  port?: number;
  /** Whether `requests` keeps every request; false for runs of many. */
  keepRequests?: boolean;
  /** How long an idle kept-alive connection stays open; default 60 s, so that no test meets the race by accident. */
  keepAliveMilliseconds?: number;
}

/** One behaviour for every request from now on, a list used up one by one, or a choice per request. */
type Script =
  | Behaviour
  | readonly Behaviour[]
  | ((request: ReceivedRequest, count: number) => Behaviour | undefined);

/** A model server whose every answer the test decides. */
export interface ScriptedUpstream {
  /** Base URL with `/v1`, for `spec.baseURL`. */
  readonly url: string;
  readonly port: number;
  /** Every request so far, in the order of their heads. */
  readonly requests: readonly ReceivedRequest[];
  /** TCP connections that are open now. */
  connectionCount: () => number;
  /** What the standard answers hold; may be changed at any time. */
  readonly answers: AnswerOptions;
  /** Sets what `path` (below `/v1`: `/chat/completions`; `*` for every path without its own) does. A used-up list, or undefined: the standard answer. */
  respondWith: (path: string, script: Script | undefined) => void;
  /** The requests below `/v1` at `path`. */
  requestsTo: (path: string) => ReceivedRequest[];
  /** Resolves when `test` holds for `requests`; throws after `timeoutMilliseconds` (default 5,000). */
  waitFor: (
    test: (requests: readonly ReceivedRequest[]) => boolean,
    timeoutMilliseconds?: number,
  ) => Promise<void>;
  /** Refuses new connections; `dropConnections` (default true) resets the open ones too. */
  pause: (options?: { dropConnections?: boolean }) => void;
  /** Listens again on the same port. */
  resume: () => Promise<void>;
  /** Resets every connection and closes; may be called twice. */
  stop: () => Promise<void>;
}

/** Starts a real HTTP server on 127.0.0.1 that plays an OpenAI-compatible (and natively Responses and Messages) model server. */
export async function startUpstream(options: UpstreamOptions = {}): Promise<ScriptedUpstream> {
  const answers: AnswerOptions = {
    models: options.models ?? ['test-model'],
    modelsStatus: options.modelsStatus ?? 200,
    chunks: options.chunks ?? 5,
    chunkDelayMilliseconds: options.chunkDelayMilliseconds ?? 0,
    toolArguments: options.toolArguments ?? '{"city":"Paris"}',
    headers: options.headers ?? {},
    prefix: options.prefix ?? '',
  };
  const requests: ReceivedRequest[] = [];
  const sockets = new Map<Socket, number>();
  const scripts = new Map<string, Script>();
  const counts = new Map<string, number>();
  let connections = 0;

  const accept = (incoming: IncomingMessage, response: ServerResponse) => {
    const { request, exchange } = receive(incoming, response);
    if (options.keepRequests !== false) requests.push(request);
    const behaviour = nextBehaviour(request);
    const start = () => {
      play(behaviour, exchange).catch((error: unknown) => {
        if (!exchange.signal.aborted)
          incoming.socket.destroy(new Error('behaviour failed', { cause: error }));
      });
    };
    incoming.once('end', () => {
      request.bodyComplete = true;
      if (behaviour.kind !== 'beforeBody') start();
    });
    incoming.on('error', () => {});
    if (behaviour.kind === 'beforeBody') start();
  };
  const settings = { keepAliveTimeout: options.keepAliveMilliseconds ?? 60_000, requestTimeout: 0 };
  const server =
    options.tls === undefined
      ? createServer(settings, accept)
      : createTlsServer({ ...settings, ...options.tls }, accept);
  server.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    connections += 1;
    sockets.set(socket, connections);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (_error, socket) => socket.destroy());

  function receive(incoming: IncomingMessage, response: ServerResponse) {
    const { socket } = incoming;
    const sentBefore = socket.bytesWritten;
    const gone = new AbortController();
    let cutByUs = false;
    const url = incoming.url ?? '/';
    const parts: Buffer[] = [];
    incoming.on('data', (bytes: Buffer) => parts.push(bytes));
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      url,
      path: url.split('?', 1)[0] ?? url,
      headers: incoming.headers,
      rawHeaders: incoming.rawHeaders,
      connection: sockets.get(socket) ?? 0,
      startTime: performance.now(),
      get body() {
        // Joined only when read: joining at each piece would make a 32 MiB body cost gigabytes of copying.
        if (parts.length > 1) parts.splice(0, parts.length, Buffer.concat(parts));
        return parts[0] ?? Buffer.alloc(0);
      },
      bodyComplete: false,
      answeredTime: undefined,
      clientGoneTime: undefined,
      sentBytes: () => socket.bytesWritten - sentBefore,
    };
    response.once('finish', () => {
      request.answeredTime = performance.now();
    });
    response.on('error', () => {});
    response.once('close', () => {
      if (request.answeredTime === undefined && !cutByUs) request.clientGoneTime = performance.now();
      gone.abort();
    });
    const cut = (how: () => void) => () => {
      cutByUs = true;
      how();
    };
    const exchange: Exchange = {
      request,
      response,
      socket,
      signal: gone.signal,
      answers,
      reset: cut(() => reset(socket)),
      close: cut(() => socket.destroySoon()),
      stopListening: () => server.close(),
    };
    return { request, exchange };
  }

  function nextBehaviour(request: ReceivedRequest): Behaviour {
    const { authorization, 'x-api-key': xApiKey, 'api-key': apiKey } = request.headers;
    const wanted = options.apiKey;
    if (wanted !== undefined) {
      const carried = [authorization?.replace(/^Bearer /, ''), xApiKey, apiKey];
      if (!carried.includes(wanted)) return unauthorized;
    }
    const below = pathBelowVersion(request.path);
    const path = scripts.has(below) ? below : '*';
    const script = scripts.get(path);
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    if (script === undefined) return { kind: 'well' };
    if (typeof script === 'function') return script(request, count) ?? { kind: 'well' };
    return 'kind' in script ? script : (script[count] ?? { kind: 'well' });
  }

  let port = options.port ?? 0;
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const listenAnywhere = async (triesLeft = 50): Promise<void> => {
    port = randomInt(lowestPort, lowestPort + ports);
    try {
      await listen();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || triesLeft === 0) throw error;
      await listenAnywhere(triesLeft - 1);
    }
  };
  const resetAll = () => {
    for (const socket of sockets.keys()) reset(socket);
  };
  await (port === 0 ? listenAnywhere() : listen());

  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/v1`,
    port,
    requests,
    answers,
    connectionCount: () => sockets.size,
    respondWith: (path, script) => {
      counts.delete(path);
      if (script === undefined) scripts.delete(path);
      else scripts.set(path, script);
    },
    requestsTo: (path) => requests.filter((request) => pathBelowVersion(request.path) === path),
    waitFor: async (test, timeoutMilliseconds = 5000) => {
      const end = performance.now() + timeoutMilliseconds;
      while (!test(requests)) {
        if (performance.now() > end) {
          const seen = requests.map(({ method, path }) => `${method} ${path}`).join(', ');
          throw new Error(`upstream: not met within ${timeoutMilliseconds} ms; requests so far: ${seen}`);
        }
        await delay(5);
      }
    },
    pause: ({ dropConnections = true } = {}) => {
      server.close();
      if (dropConnections) resetAll();
    },
    resume: listen,
    stop: async () => {
      if (server.listening) server.close();
      resetAll();
    },
  };
}

function reset(socket: Socket): void {
  // A TLS socket cannot send a reset of its own; it just ends.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

const unauthorized: Behaviour = {
  kind: 'answer',
  status: 401,
  body: {
    error: { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' },
  },
};
