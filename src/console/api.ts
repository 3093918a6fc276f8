import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import type { Declarations } from '../cli/edit/declarations.ts';
import { kindSchema } from '../cli/edit/kind-schema.ts';
import { type ConsoleFailure, failureOf } from './answer-error.ts';
import { sendChanges } from './changes.ts';
import { isDeeperThan } from './depth.ts';
import type { Entrance } from './entrance.ts';
import { securityHeaders } from './guard.ts';
import { type Live, pageKinds } from './live.ts';
import { refuse } from './refuse.ts';
import { addResourceRoutes } from './resource-routes.ts';
import { rightsIn } from './rights.ts';
import { addRouteRoutes, type ExplainRoute } from './route-routes.ts';
import type { Place } from './shapes.ts';
import { signedOut } from './signed-out.ts';
import { addTryRoute, type Reach } from './try-route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of a POST that changes nothing: a console for reading takes it, too. */
    changesNothing?: true;
  }
}

interface ApiOptions {
  readonly entrance: Entrance;
  readonly declarations: Declarations;
  readonly live: Live;
  readonly place: Place;
  readonly explain: ExplainRoute;
  readonly reach: Reach | undefined;
  readonly randomBytes: (size: number) => Buffer;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Called when a request failed for a reason that nobody expected. */
  readonly onFailure: (failure: ConsoleFailure) => void;
}

/** As deep as a gateway takes what is tried. To write a deeper body as JSON again ends with a RangeError. */
const deepestBody = 512;

/**
 * All that the page asks the console, as one plugin. Its hook runs for each route that is registered in it, however a
 * request spells the route's address, and asks for a session; also for addresses below the prefix that have no route.
 */
export function consoleApi(options: ApiOptions): FastifyPluginAsync {
  const { entrance, declarations, live, place, signal } = options;
  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { method } = request;
      // What a page reads by itself, as things change, is no act of a person.
      const acts = method !== 'GET';
      if (!entrance.holds(request, acts)) {
        return refuse(reply, 401, { reason: 'SignedOut', message: signedOut });
      }
      const isReading = method === 'GET' || request.routeOptions.config.changesNothing === true;
      if (place.readOnly !== undefined && !isReading) {
        return refuse(reply, 403, { reason: 'Forbidden', message: place.readOnly });
      }
    });
    app.addHook('preValidation', async ({ body }, reply) => {
      if (!isDeeperThan(body, deepestBody)) return;
      const message = `The request is nested more than ${deepestBody} levels deep; a gateway takes none deeper.`;
      return refuse(reply, 400, { reason: 'Invalid', message });
    });
    app.get('/place', async () => place);
    app.post('/acted', { config: { changesNothing: true } }, async () => ({}));
    addLive(app, options);
    app.get('/rights', async ({ query }) => {
      const { namespace } = query as { namespace?: string };
      return rightsIn(declarations, namespace ?? declarations.namespace, signal);
    });
    app.get('/schema/:kind', async (request, reply) => {
      const { kind } = request.params as { kind: string };
      const known = pageKinds.find((name) => name === kind);
      if (known === undefined) {
        return refuse(reply, 404, { reason: 'NotFound', message: `There is no kind ${kind}.` });
      }
      return kindSchema(known).properties?.['spec'];
    });
    addResourceRoutes(app, options);
    addRouteRoutes(app, live, options.explain);
    addTryRoute(app, options.reach);
    app.all('/*', (_request, reply) =>
      refuse(reply, 404, { reason: 'NotFound', message: 'There is nothing at this address.' }),
    );
  };
}

/**
 * Live streams of one browser. It has six connections to one address, for all its pages together: with a stream on each
 * of them nothing else would be answered. The page that was opened first gives way, and goes on when a person returns to it.
 */
const mostStreams = 4;

function addLive(app: FastifyInstance, { live, entrance, onFailure }: ApiOptions): void {
  const streams = new Map<string, Set<() => void>>();
  app.get('/live', (request, reply) => {
    reply.hijack();
    for (const [name, value] of Object.entries(securityHeaders)) reply.raw.setHeader(name, value);
    const mayStay = (): boolean => entrance.holds(request, false);
    const pause = sendChanges(live, reply.raw, mayStay, (error) => onFailure(failureOf(error, request)));
    const browser = entrance.browser(request) ?? '';
    const open = streams.get(browser) ?? new Set();
    streams.set(browser, open.add(pause));
    reply.raw.on('close', () => {
      open.delete(pause);
      if (open.size === 0) streams.delete(browser);
    });
    const [oldest] = open;
    if (open.size > mostStreams) oldest?.();
  });
}
