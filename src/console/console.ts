import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import fastify, { type FastifyInstance } from 'fastify';
import type { Declarations } from '../cli/edit/declarations.ts';
import { closeServers, listenOnHost } from '../listen/listen-on-host.ts';
import { type TlsPair, tlsServerOptions } from '../tls/tls-pair.ts';
import { answerErrors, type ConsoleFailure } from './answer-error.ts';
import { consoleApi } from './api.ts';
import { createEntrance } from './entrance.ts';
import { gatewayConnections } from './gateway-connections.ts';
import { securityHeaders } from './guard.ts';
import { createLive } from './live.ts';
import { consolePages } from './pages.ts';
import { refuse } from './refuse.ts';
import type { ExplainRoute } from './route-routes.ts';
import type { Place } from './shapes.ts';
import { noGateway, type Reach } from './try-route.ts';

/** What the console needs; all of it belongs to the person who started it. */
export interface ConsoleOptions {
  readonly declarations: Declarations;
  /** The namespace whose resources are shown; undefined shows all that may be read. */
  readonly namespace: string | undefined;
  readonly explain: ExplainRoute;
  readonly host: string;
  readonly port: number;
  /** The port that browsers use, if it differs from the one that is listened on. */
  readonly frontPort?: number;
  /** Tokens of addresses that were handed out before the start. */
  readonly tokens?: readonly string[];
  /** Further host names of the console, without port. */
  readonly names?: readonly string[];
  /** For an address other than loopback. */
  readonly tls?: TlsPair;
  readonly readOnly: boolean;
  /** The base URL for callers; undefined if it is not known. */
  readonly gatewayURL: string | undefined;
  /** A file with the authority of the gateway's certificate, if the system does not trust it. */
  readonly gatewayCA?: string | undefined;
  /** How to reach a gateway for "Try it" if its URL is not known. */
  readonly reach?: Reach;
  readonly version: string;
  /** How long a browser stays signed in without a person's action, in milliseconds. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly signal: AbortSignal;
  /** Called when a request failed with an unexpected error. */
  readonly onFailure: (failure: ConsoleFailure) => void;
  /** Called when a browser has signed in with an address, which cannot be used again. */
  readonly onSignIn?: () => void;
}

export interface RunningConsole {
  readonly port: number;
  /** An address with a token in it, good for one browser. */
  newAddress(): string;
  close(): Promise<void>;
}

/** Largest body of a request, in bytes: a node with two thousand models fits. */
const maxBody = 1_048_576;
const timeouts = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 72_000 };
const handshakeMs = 10_000;
const readOnlyReason = 'The console was started with --read-only.';

/**
 * Serves the console: the page, its data and its edits, all with the permissions of `declarations`. A person signs in with
 * a token from `newAddress`. Throws the errors of `listen`, such as EADDRINUSE.
 */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { declarations, tls, host, onSignIn = () => {} } = options;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, options.signal]);
  const scheme = tls === undefined ? 'http' : 'https';
  const entrance = createEntrance({ ...options, scheme });
  const reach = reachOf(options);
  const app = fastify({
    bodyLimit: maxBody,
    // A HEAD would run the handler of the GET, with its effects. The page's routes declare their own.
    exposeHeadRoutes: false,
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders);
    const message = entrance.refusal(request);
    if (message !== undefined) return refuse(reply, 403, { reason: 'Forbidden', message });
  });
  app.setErrorHandler(answerErrors(options.onFailure));
  app.setNotFoundHandler((_request, reply) => refuse(reply, 405, { reason: 'Invalid', message: 'Use GET.' }));
  await app.register(
    consoleApi({
      ...options,
      entrance,
      live: createLive(declarations, options.namespace, signal),
      place: placeOf(options, reach),
      reach,
      signal,
    }),
    { prefix: '/api' },
  );
  await app.register(consolePages(entrance, onSignIn));

  await app.ready();
  const { address, servers } = await listenOnHost(host, options.port, () => newServer(app, tls));
  const { port } = address;
  entrance.open(options.frontPort ?? port);
  return {
    port,
    newAddress: entrance.newAddress,
    async close() {
      stop.abort();
      await closeServers(servers);
      await app.close();
    },
  };
}

function newServer(app: FastifyInstance, tls: TlsPair | undefined): Server {
  return tls === undefined
    ? createServer(timeouts, app.routing)
    : createTlsServer({ ...timeouts, ...tlsServerOptions(tls, handshakeMs) }, app.routing);
}

function reachOf({ gatewayURL, gatewayCA, reach }: ConsoleOptions): Reach | undefined {
  if (gatewayURL === undefined) return reach;
  const connections = gatewayConnections({ caFile: gatewayCA, byName: true });
  return async () => ({
    baseURL: gatewayURL,
    shown: gatewayURL,
    dispatcher: await connections(),
    why: () => undefined,
  });
}

function placeOf(
  { declarations, version, readOnly, gatewayURL }: ConsoleOptions,
  reach: Reach | undefined,
): Place {
  return {
    place: declarations.place,
    isCluster: !declarations.place.startsWith('folder '),
    namespace: declarations.namespace,
    version,
    readOnly: readOnly ? readOnlyReason : undefined,
    gatewayURL,
    tryIt: reach === undefined ? noGateway : undefined,
  };
}
