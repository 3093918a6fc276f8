import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import type { Registry } from 'prom-client';
import type { ServingConfig, TrafficConfig } from '../config.ts';
import { systemClock } from '../controller/clock.ts';
import { type ControllerOptions, runController } from '../controller/run.ts';
import { createGateway, type Gateway } from '../gateway/gateway.ts';
import { accessLogWriter, createAccessLog } from '../observe/access-log.ts';
import { type AdminServer, startAdminServer } from '../observe/admin-server.ts';
import type { DebugEndpoints } from '../observe/debug-endpoints.ts';
import { type LineOutput, stdoutLines } from '../observe/line-output.ts';
import { createLog, type Log } from '../observe/log.ts';
import { createDroppedLinesCounter, createRegistry } from '../observe/metrics.ts';
import type { Otlp } from '../observe/otlp/start-otlp.ts';
import { createTrafficMetrics } from '../observe/traffic-metrics.ts';
import type { Store } from '../store/store.ts';
import type { Pools } from '../upstream/pools.ts';
import { listenedOn, listenOn, stopOnSignals, version } from './process.ts';
import type { TrafficTls } from './traffic-tls.ts';

type RoleConfig = ServingConfig & { readonly command: string };

/** What the process of a role has from its start to its end. */
export interface Role<C extends RoleConfig = RoleConfig> {
  readonly config: C;
  readonly log: Log;
  readonly registry: Registry;
  /** Where the log goes. */
  readonly lines: LineOutput;
  /** Aborts at the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Ends what runs in the background. `endRole` aborts it. */
  readonly work: AbortController;
}

/** Starts the log and the metrics of a role. An error that nothing catches is logged, and ends the process. */
export function beginRole<C extends RoleConfig>(config: C): Role<C> {
  const registry = createRegistry(version, config.command);
  const lines = stdoutLines({
    onDropped: createDroppedLinesCounter(registry),
    onRecovered: (dropped) =>
      log.warn({ lines: dropped }, 'Lines were left out of the log, because stdout was read too slowly'),
  });
  const log = createLog({ ...config.log, role: config.command, destination: lines });
  for (const flag of config.repeated)
    log.warn({ flag }, 'A flag was given more than once; only its last value counts: remove the others');
  const dieOf = (error: unknown): void => {
    log.fatal({ err: error }, 'Failed unexpectedly');
    process.exit(1);
  };
  process.on('uncaughtException', dieOf);
  process.on('unhandledRejection', dieOf);
  return { config, log, registry, lines, stop: stopOnSignals(log), work: new AbortController() };
}

/**
 * Exports telemetry if the OTEL_* variables ask for it; otherwise it returns undefined, and nothing of OpenTelemetry is
 * loaded. Variables that cannot be used are logged, because the role can serve without telemetry.
 */
export async function exportTelemetry({ config, log, registry }: Role): Promise<Otlp | undefined> {
  const { settings, problems } = config.otlp;
  for (const problem of problems) log.warn({ problem }, 'A variable of OpenTelemetry could not be used');
  if (settings === undefined) return undefined;
  try {
    const { startOtlp } = await import('../observe/otlp/start-otlp.ts');
    const instance = process.env['POD_NAME'] ?? `${hostname()}-${process.pid}`;
    return startOtlp({ settings, registry, log, version, role: config.command, instance, now: Date.now });
  } catch (error) {
    log.warn({ err: error }, 'Telemetry cannot be exported');
    return undefined;
  }
}

/** The traffic side of a role, with its metrics and its TLS files. It does not listen yet. */
export function createTraffic(
  { config, log, registry, lines, work }: Role<RoleConfig & { readonly traffic: TrafficConfig }>,
  homeNamespace: string,
  parts: {
    readonly store: Store;
    readonly pools: Pools;
    readonly tls: TrafficTls | undefined;
    readonly otlp: Otlp | undefined;
  },
): Gateway {
  const { store, pools, tls, otlp } = parts;
  const { maxBodyBytes, maxBufferedBytes, maxAttempts } = config.traffic.limits;
  const gateway = createGateway({
    store,
    pools,
    log,
    homeNamespace,
    tls: tls?.pair,
    balance: config.traffic.balance,
    tracing: otlp?.tracing,
    limits: { bodyBytes: maxBodyBytes, bufferedBytes: maxBufferedBytes, attempts: maxAttempts },
    metrics: createTrafficMetrics(registry),
    accessLog: createAccessLog({
      choice: config.traffic.accessLog,
      level: config.log.level,
      role: config.command,
      write: accessLogWriter(config.log.format, lines),
      now: Date.now,
      random: Math.random,
    }),
  });
  tls?.follow(gateway, work.signal);
  return gateway;
}

/** Serves probes and metrics. For `mayMove` see `listenOn`; `remarks` are added to `/readyz?verbose`, `debug` answers below `/debug/`. */
export async function serveAdmin(
  { config, log, registry, stop }: Role,
  store: Store,
  {
    mayMove = false,
    remarks = () => store.remarks?.() ?? [],
    debug,
  }: {
    readonly mayMove?: boolean;
    readonly remarks?: () => readonly string[];
    readonly debug?: DebugEndpoints;
  } = {},
): Promise<AdminServer> {
  const unready = (): string | undefined => unreadyReason(stop, store);
  const admin = await listenOn(config.adminListen, mayMove, (host, port) =>
    startAdminServer({ host, port, registry, unready, debug, remarks }),
  );
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  return admin;
}

/** Why the process should get no traffic; undefined if it should. */
function unreadyReason(stop: AbortSignal, store: Store): string | undefined {
  if (stop.aborted) return 'stopping';
  if (store.synced) return undefined;
  const why = store.unsyncedReason?.();
  return `the first complete list of the resources has not arrived yet${why === undefined ? '' : `: ${why}`}`;
}

/** Keeps the status of all resources true, until the signal aborts. */
export function control(
  { log, registry }: Role,
  options: Pick<
    ControllerOptions,
    | 'store'
    | 'pools'
    | 'gatewayURL'
    | 'homeNamespace'
    | 'workers'
    | 'contacts'
    | 'reports'
    | 'signal'
    | 'isLeaderValid'
    | 'claims'
  >,
): Promise<void> {
  return runController({ ...options, log, registry, clock: systemClock, random: Math.random, randomBytes });
}

/** Ends a role after its last request. `close` ends where its resources come from. */
export async function endRole(
  { log, work }: Role,
  parts: { readonly pools: Pools; readonly admin: AdminServer; readonly otlp: Otlp | undefined },
  close: () => unknown,
  facts: object = {},
): Promise<void> {
  work.abort();
  await parts.pools.destroy();
  await close();
  await parts.otlp?.close();
  await parts.admin.close();
  log.info(facts, 'Stopped');
}
