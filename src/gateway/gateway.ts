import { randomBytes, randomFillSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import Fastify, { type FastifyInstance } from 'fastify';
import type { AccessLog } from '../observe/access-log.ts';
import type { OpenCircuit } from '../observe/circuit-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Tracing } from '../observe/tracing.ts';
import { createTrafficMetrics, type TrafficMetrics } from '../observe/traffic-metrics.ts';
import { type Balance, createRouter } from '../routing/route.ts';
import type { Store } from '../store/store.ts';
import type { TlsPair } from '../tls/tls-pair.ts';
import { Deadlines } from '../upstream/deadlines.ts';
import type { Pools } from '../upstream/pools.ts';
import { BufferBudget } from './admission/buffer-budget.ts';
import { failedOutcomes } from './attempt/attempt-outcome.ts';
import { circuitsOfCounts, createAttemptReports } from './attempt/attempt-reports.ts';
import { circuitLog } from './attempt/circuit-log.ts';
import { createCircuits } from './attempt/circuits.ts';
import { isConnectionChange } from './attempt/connection-change.ts';
import { NodeLoads } from './attempt/node-loads.ts';
import { createConversionReports } from './conversion/conversion-reports.ts';
import { errorCodes, keyRefusals } from './errors/errors.ts';
import type { GatewayContext } from './handle.ts';
import { createKeysApi } from './keys/keys-api.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { answersOf, declareRoutes, routeNames } from './routes.ts';
import type { RequestDone } from './server/progress.ts';
import { requestIds } from './server/request-ids.ts';
import { createTrafficServers } from './server/traffic-servers.ts';
import { refuseUnrouted, unrouted } from './server/unrouted.ts';
import { LargeWork } from './thread/large-work.ts';

/** The traffic side: the HTTP API on one port. */
export interface Gateway {
  /** Listens and returns the address; it holds the port that the system chose for port 0. Throws what `listen` throws. */
  listen(host: string, port: number): Promise<{ readonly host: string; readonly port: number }>;
  /**
   * Stops without losing a request. For `graceMs` it takes new requests, and closes each connection after its next answer;
   * then it takes none. Resolves when the requests in flight have ended. After `limitMs`, grace included, it ends them.
   * May be called twice; the second call waits for the same end.
   */
  drain(limitMs: number, graceMs?: number): Promise<void>;
  /** Sets the certificate for new connections; open ones keep theirs. Needs `tls` at creation. */
  setTlsPair(pair: TlsPair): void;
  /** Ends everything at once. */
  destroy(): Promise<void>;
  /** How many circuits are open now. */
  openCircuits(): number;
  /** Every circuit that is open or half-open now. */
  notClosedCircuits(): Iterable<OpenCircuit>;
  /** Requests that are being answered now. */
  inFlight(): number;
}

export interface GatewayOptions {
  readonly store: Store;
  readonly pools: Pools;
  readonly log: Log;
  readonly homeNamespace: string;
  readonly limits?: Partial<Limits>;
  /** How requests without a session are spread; Weighted by default. */
  readonly balance?: Balance;
  /** Speak TLS with this certificate; else plain HTTP. */
  readonly tls?: TlsPair | undefined;
  readonly onRequestDone?: (done: RequestDone) => void;
  /** Called for every request that has ended, to write a line about it. */
  readonly accessLog?: AccessLog;
  /** Makes spans of requests; absent if tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** Counts everything. */
  readonly metrics?: TrafficMetrics;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** How long waiting connections are accepted before the listener is closed. */
const lastConnectionsMs = 1_000;
/** How long idle connections stay open after the listener was closed, for requests already on their way. */
const lastRequestsMs = 100;
/** How long written answers may take to leave their sockets. */
const lastWritesMs = 1_000;

/** Sets up the HTTP server; it does not listen yet. */
export function createGateway(options: GatewayOptions): Gateway {
  const {
    store,
    pools,
    log,
    homeNamespace,
    balance = 'Weighted',
    now = Date.now,
    random = Math.random,
  } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const clock = () => performance.now();
  const metrics = options.metrics ?? createTrafficMetrics();
  const { requests, attempts } = metrics;
  const circuits = createCircuits(clock, circuitLog(log, clock, metrics.circuits));
  const loads = new NodeLoads(clock);
  let draining = false;
  let inFlight = 0;
  let onIdle: (() => void) | undefined;
  const context: GatewayContext = {
    view: store,
    log,
    internalErrors: metrics.internalErrors(log),
    budget: new BufferBudget(limits.bufferedBytes),
    deadlines: new Deadlines(limits.keepAliveMs),
    homeNamespace,
    pools,
    circuits,
    loads,
    limits,
    requests,
    accessLog: options.accessLog ?? (() => {}),
    tracing: options.tracing,
    reports: createAttemptReports({ circuits, counters: attempts, requests, log, now }),
    countReports: createAttemptReports({
      circuits: circuitsOfCounts(circuits),
      counters: attempts,
      requests,
      log,
      now,
    }),
    largeWork: new LargeWork({ metrics: metrics.threads }),
    conversions: createConversionReports({ log, clock, counters: metrics.conversions }),
    now,
    clock,
    router: createRouter({ view: store, circuits, loads, balance, homeNamespace, random, now }),
    requestId: requestIds(randomFillSync),
    onRequestStart: () => {
      inFlight += 1;
    },
    onRequestDone: (done) => {
      inFlight -= 1;
      options.onRequestDone?.(done);
      if (inFlight === 0) onIdle?.();
    },
    draining: () => draining,
  };
  requests.declare({ routes: routeNames, errors: errorCodes, keyRefusals, failoverReasons: failedOutcomes });
  requests.observe({ inFlight: () => inFlight });
  metrics.circuits.observe(circuits.notClosed);
  metrics.loads.observe(() => loads.bounded(store.list('UpstreamNode')));
  attempts.observe(() => pools.replays());
  const app = createApp(context);
  declareRoutes(app, context, createKeysApi({ store, now, randomBytes }));
  const servers = createTrafficServers(context, options.tls, answersOf(app, context));
  const unsubscribe = store.subscribe((change) => {
    if (change.kind !== 'UpstreamNode' && change.kind !== 'Credentials') return;
    const id = `${change.namespace}/${change.name}`;
    const isGone = change.kind === 'UpstreamNode' && change.after === undefined;
    if (change.kind === 'UpstreamNode' && !isDeepStrictEqual(change.before?.spec, change.after?.spec))
      loads.changed(id);
    // A node whose connection was fixed gets requests at once.
    if (isGone || isConnectionChange(change)) circuits.forget(id);
    if (!isGone) return;
    loads.forget(id);
    pools.release(id);
    for (const counters of [requests, attempts, metrics.circuits]) counters.forget(id);
  });

  const untilIdle = (): Promise<void> =>
    new Promise((resolve) => {
      onIdle = resolve;
      if (inFlight === 0) resolve();
    });
  const stop = async (graceMs: number, limitMs: number): Promise<void> => {
    draining = true;
    await delay(graceMs);
    await servers.takeWaiting(lastConnectionsMs);
    servers.refuseConnections();
    await delay(lastRequestsMs);
    await servers.takeWaiting(lastRequestsMs);
    servers.closeIdleConnections();
    await Promise.race([untilIdle(), delay(Math.max(limitMs - graceMs, 0), undefined, { ref: false })]);
    await destroy();
  };
  const destroy = async (): Promise<void> => {
    draining = true;
    unsubscribe();
    const closed = servers.close();
    // The last bytes may still be in the socket.
    if (inFlight > 0) servers.closeAllConnections();
    // node:http does not count a connection as idle that never sent a complete request: only this ends it.
    await Promise.race([closed, delay(lastWritesMs, undefined, { ref: false })]);
    servers.closeAllConnections();
    await closed;
    await context.largeWork.close();
    await app.close();
  };
  let stopping: Promise<void> | undefined;
  return {
    async listen(host, port) {
      await app.ready();
      const { address, port: taken } = await servers.listen(host, port);
      return { host: address, port: taken };
    },
    drain(limitMs, graceMs = 0) {
      stopping ??= stop(graceMs, limitMs);
      return stopping;
    },
    setTlsPair: servers.setTlsPair,
    destroy,
    openCircuits: () => [...circuits.notClosed()].length,
    notClosedCircuits: circuits.notClosed,
    inFlight: () => inFlight,
  };
}

/** Fastify as the router only: it neither listens nor writes answers. */
function createApp(context: GatewayContext): FastifyInstance {
  return Fastify({
    logger: false,
    // Model ids are long and contain slashes. The limit on the head bounds them.
    routerOptions: { maxParamLength: context.limits.headerBytes, ignoreTrailingSlash: true },
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      refuseUnrouted(context, request.raw, reply.raw, unrouted.badPath());
    },
  });
}
