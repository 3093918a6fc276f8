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
    /** Set on a POST that changes nothing: a read-only console accepts it too. */
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
  /** Called when a request failed with an unexpected error. */
  readonly onFailure: (failure: ConsoleFailure) => void;
}

/** The depth that a gateway accepts. Serialising a deeper body again throws a RangeError. */
const deepestBody = 512;

/**
 * The routes that the page calls, as one plugin. Its hook requires a session for each of them, however a request spells the
 * address, and for addresses below the prefix that have no route.
 */
export function consoleApi(options: ApiOptions): FastifyPluginAsync {
  const { entrance, declarations, live, place, signal } = options;
  return async (app) => {
    app.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { method } = request;
      // What a page reads without a person's action does not keep the session alive.
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
      const message = `The request is nested more than ${deepestBody} levels deep, more than a gateway accepts.`;
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
 * Live streams of one browser. A browser opens six connections to one address, for all its pages together: with a stream on
 * each of them no other request would be sent. The stream of the oldest page is closed; it continues when a person returns
 * to that page.
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
