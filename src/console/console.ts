import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  DeclarationError,
  type DeclarationErrorReason,
  type Declarations,
} from '../cli/edit/declarations.ts';
import { kindSchema } from '../cli/edit/kind-schema.ts';
import { TlsFileError } from '../tls/pem-file.ts';
import { secureOptions, type TlsPair } from '../tls/tls-pair.ts';
import { sendChanges } from './changes.ts';
import { gatewayConnections } from './gateway-connections.ts';
import { hostsOf, refusal, securityHeaders } from './guard.ts';
import { createLive, pageKinds } from './live.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { refuse } from './refuse.ts';
import { addResourceRoutes } from './resource-routes.ts';
import { rightsIn } from './rights.ts';
import { addRouteRoutes, type ExplainRoute } from './route-routes.ts';
import { createSessions } from './sessions.ts';
import type { Place } from './shapes.ts';
import { addTryRoute, noGateway, type Reach } from './try-route.ts';

/** What the console needs; all of it belongs to the person who started it. */
export interface ConsoleOptions {
  readonly declarations: Declarations;
  /** The namespace whose resources are shown; undefined shows all that may be read. */
  readonly namespace: string | undefined;
  readonly explain: ExplainRoute;
  readonly host: string;
  readonly port: number;
  /** The port that browsers use, where it is not the one that is listened on. */
  readonly frontPort?: number;
  /** Tokens of addresses that were handed out before the start. */
  readonly tokens?: readonly string[];
  /** Further names that the console is reached by, without port. */
  readonly names?: readonly string[];
  /** For an address other than loopback. */
  readonly tls?: TlsPair;
  readonly readOnly: boolean;
  /** The base URL for callers; undefined where it is not known. */
  readonly gatewayURL: string | undefined;
  /** A file of the authority that the gateway's certificate is of, where the system does not trust it. */
  readonly gatewayCA?: string | undefined;
  /** How to reach a gateway to try where its URL is not known. */
  readonly reach?: Reach;
  readonly version: string;
  /** How long a browser stays signed in without an act, in milliseconds. */
  readonly idleMs: number;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly signal: AbortSignal;
  /** Called when a browser has used an address up. */
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
const statusOf: Readonly<Record<DeclarationErrorReason, number>> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Forbidden: 403,
  Invalid: 422,
  Unavailable: 503,
};

/**
 * Serves the console: the page, what it shows, and its edits, all with the rights that `declarations` has. Whoever wants
 * in needs a token from `newAddress`. Throws what `listen` throws, such as EADDRINUSE.
 */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { declarations, namespace, tls, host, readOnly } = options;
  // Read when the first browser comes: most processes that offer the console are never asked for it.
  let reading: ReturnType<typeof readPageFiles> | undefined;
  const pageFile = async (path: string): Promise<PageFile | undefined> => {
    reading ??= readPageFiles();
    return (await reading).get(path);
  };
  const sessions = createSessions(options);
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, options.signal]);
  const scheme = tls === undefined ? 'http' : 'https';
  const app = fastify({
    bodyLimit: maxBody,
    forceCloseConnections: true,
    requestTimeout: 30_000,
    ...(tls === undefined ? {} : { https: secureOptions(tls) }),
  }) as unknown as FastifyInstance<Server>;
  let hosts: ReadonlySet<string> = new Set();
  let cookieName = '';

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders);
    const { method, headers } = request;
    const refused = refusal(
      { method, host: headers.host, origin: headers.origin, fetchSite: one(headers['sec-fetch-site']) },
      hosts,
      scheme,
    );
    if (refused !== undefined) return refuse(reply, 403, { reason: 'Forbidden', message: refused });
    if (!isApi(request)) return;
    reply.header('cache-control', 'no-store');
    // What a page reads by itself, as things change, is no act of a person.
    const acts = method !== 'GET';
    if (!sessions.holds(cookieOf(headers.cookie, cookieName), acts)) {
      return refuse(reply, 401, { reason: 'SignedOut', message: signedOut });
    }
    if (readOnly && method !== 'GET' && !changesNothing.includes(request.url)) {
      return refuse(reply, 403, { reason: 'Forbidden', message: readOnlyReason });
    }
  });
  app.setErrorHandler((error: unknown, _request, reply) => {
    if (error instanceof DeclarationError) {
      const { reason, message, causes } = error;
      return refuse(reply, statusOf[reason], { reason, message, causes });
    }
    if (error instanceof TlsFileError) {
      return refuse(reply, 503, { reason: 'Unavailable', message: error.message });
    }
    const status = (error as { statusCode?: unknown }).statusCode;
    if (typeof status === 'number' && status < 500) {
      return refuse(reply, status, { reason: 'Invalid', message: (error as Error).message });
    }
    return refuse(reply, 500, { reason: 'Failed', message: 'The console failed; its log says why.' });
  });

  const live = createLive(declarations, namespace, signal);
  const { gatewayURL } = options;
  const connections = gatewayConnections({ caFile: options.gatewayCA, byName: true });
  const known: Reach | undefined =
    gatewayURL === undefined
      ? undefined
      : async () => ({
          baseURL: gatewayURL,
          shown: gatewayURL,
          dispatcher: await connections(),
          why: () => undefined,
        });
  const reach = known ?? options.reach;
  const place: Place = {
    place: declarations.place,
    namespace: declarations.namespace,
    version: options.version,
    readOnly: readOnly ? readOnlyReason : undefined,
    gatewayURL,
    tryIt: reach === undefined ? noGateway : undefined,
  };
  app.get('/api/place', async () => place);
  app.get('/api/live', ({ headers }, reply) => {
    reply.hijack();
    const cookie = cookieOf(headers.cookie, cookieName);
    for (const [name, value] of Object.entries(securityHeaders)) reply.raw.setHeader(name, value);
    sendChanges(live, reply.raw, () => sessions.holds(cookie, false));
  });
  app.post('/api/acted', async () => ({}));
  app.get('/api/rights', async (request) => {
    const { namespace: asked } = request.query as { namespace?: string };
    return rightsIn(declarations, asked ?? declarations.namespace, signal);
  });
  app.get('/api/schema/:kind', async (request, reply) => {
    const { kind } = request.params as { kind: string };
    const known = pageKinds.find((name) => name === kind);
    if (known === undefined)
      return refuse(reply, 404, { reason: 'NotFound', message: `There is no kind ${kind}.` });
    return kindSchema(known).properties?.['spec'];
  });
  addResourceRoutes(app, { declarations, randomBytes: options.randomBytes, now: options.now, signal });
  addRouteRoutes(app, live, options.explain);
  addTryRoute(app, reach);
  app.setNotFoundHandler((request, reply) => {
    if (isApi(request))
      return refuse(reply, 404, { reason: 'NotFound', message: 'There is nothing at this address.' });
    return servePage(request, reply);
  });

  await app.listen({ host, port: options.port });
  const { port } = app.server.address() as AddressInfo;
  const frontPort = options.frontPort ?? port;
  hosts = hostsOf(host, frontPort, options.names ?? []);
  // Cookies know no ports: without it two consoles on one machine would sign each other out.
  cookieName = `model-gateway-console-${frontPort}`;
  return {
    port,
    newAddress: () => `${scheme}://${[...hosts][0]}/?token=${sessions.newToken()}`,
    async close() {
      stop.abort();
      app.server.closeAllConnections();
      await app.close();
    },
  };

  async function servePage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { pathname, searchParams } = new URL(request.url, 'http://console');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return refuse(reply, 405, { reason: 'Invalid', message: 'Use GET.' });
    }
    const token = searchParams.get('token');
    if (token !== null) return signIn(token, reply);
    if (pathname.startsWith('/page/')) {
      const file = await pageFile(pathname);
      return file === undefined
        ? reply.code(404).type('text/plain').send('not found\n')
        : send(file, request, reply);
    }
    if (!sessions.holds(cookieOf(request.headers.cookie, cookieName), true)) {
      return reply
        .code(401)
        .type('text/html; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(signedOutPage);
    }
    const index = await pageFile('/');
    return index === undefined ? reply.code(404).send() : send(index, request, reply);
  }

  /** Answers with a page of our own and not with a redirect: the cookie is not sent along a chain that began on another site. */
  function signIn(token: string, reply: FastifyReply): FastifyReply {
    const cookie = sessions.redeem(token);
    reply.type('text/html; charset=utf-8').header('cache-control', 'no-store');
    if (cookie === undefined) return reply.code(401).send(signedOutPage);
    options.onSignIn?.();
    const secure = scheme === 'https' ? '; Secure' : '';
    reply.header('set-cookie', `${cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Strict${secure}`);
    return reply.send(
      '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/nodes"><title>Model Gateway</title>',
    );
  }
}

const signedOut =
  'This browser is not signed in, or was idle for too long. Open the newest address that the console has printed; it is good for one browser. Of standalone mode and npm start it stands in the file console-address of the data folder.';
/** Posts that a console for reading takes, too. */
const changesNothing: readonly string[] = ['/api/try', '/api/acted'];
const readOnlyReason = 'The console was started with --read-only.';
const signedOutPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Model Gateway</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/page/pico.css"><link rel="stylesheet" href="/page/style.css"><main class="container"><h1>Signed out</h1><p>${signedOut}</p></main></html>`;

function isApi({ url }: FastifyRequest): boolean {
  return url.startsWith('/api/');
}

function send(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply
    .header('etag', file.etag)
    .header('cache-control', 'no-cache')
    .header('vary', 'accept-encoding')
    .type(file.type);
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const compresses = one(request.headers['accept-encoding'])?.includes('br') ?? false;
  return compresses ? reply.header('content-encoding', 'br').send(file.compressed) : reply.send(file.body);
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  const found = header?.split(/;\s*/).find((pair) => pair.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
