import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import process from 'node:process';
import type { Registry } from 'prom-client';
import { type Address, ConfigError, type ServingConfig, type TrafficConfig } from '../config.ts';
import { createGateway, type Gateway } from '../gateway/gateway.ts';
import { accessLogWriter, createAccessLog } from '../observe/access-log.ts';
import { errorCode, errorText } from '../observe/error-text.ts';
import { type LineOutput, stdoutLines } from '../observe/line-output.ts';
import { createLog, type Log } from '../observe/log.ts';
import { createDroppedLinesCounter, createRegistry } from '../observe/metrics.ts';
import type { Otlp } from '../observe/otlp/start-otlp.ts';
import type { Tracing } from '../observe/tracing.ts';
import { createTrafficMetrics } from '../observe/traffic-metrics.ts';
import { productVersion } from '../observe/version.ts';
import type { Store } from '../store/store.ts';
import type { Pools } from '../upstream/pools.ts';
import type { TrafficTls } from './traffic-tls.ts';

/** The version of this product. */
export const version = productVersion();

/** The log and the metrics of a role; `lines` is where the log goes. A fault that nobody caught ends the process, with a line that says so. */
export function observe(config: ServingConfig & { readonly command: string }): {
  log: Log;
  registry: Registry;
  lines: LineOutput;
} {
  const registry = createRegistry(version, config.command);
  const lines = stdoutLines({
    onDropped: createDroppedLinesCounter(registry),
    onRecovered: (dropped) =>
      log.warn(
        { lines: dropped },
        'Lines were left out of the log: the reader of stdout had no room for them',
      ),
  });
  const log = createLog({ ...config.log, role: config.command, destination: lines });
  const dieOf = (error: unknown): void => {
    log.fatal({ err: error }, 'Failed unexpectedly');
    process.exit(1);
  };
  process.on('uncaughtException', dieOf);
  process.on('unhandledRejection', dieOf);
  return { log, registry, lines };
}

/**
 * Exports telemetry where the OTEL_* variables ask for it; undefined, and nothing of OpenTelemetry loaded, where they do
 * not. What they say wrong is logged: telemetry is no reason not to serve.
 */
export async function exportTelemetry(
  config: ServingConfig & { readonly command: string },
  log: Log,
  registry: Registry,
): Promise<Otlp | undefined> {
  const { settings, problems } = config.otlp;
  for (const problem of problems) log.warn({ problem }, 'A variable of OpenTelemetry could not be used');
  if (settings === undefined) return undefined;
  try {
    const { startOtlp } = await import('../observe/otlp/start-otlp.ts');
    const role = config.command;
    const instance = process.env['POD_NAME'] ?? `${hostname()}-${process.pid}`;
    return startOtlp({ settings, registry, log, version, role, instance, now: Date.now });
  } catch (error) {
    log.warn({ err: error }, 'Telemetry cannot be exported');
    return undefined;
  }
}

/** The traffic side of a role, with its metrics; nothing listens yet. */
export function createTraffic(
  config: Pick<ServingConfig, 'log'> & {
    readonly command: string;
    readonly traffic: TrafficConfig;
    readonly homeNamespace: string;
  },
  store: Store,
  pools: Pools,
  log: Log,
  registry: Registry,
  more: {
    readonly lines: LineOutput;
    readonly tls: TrafficTls | undefined;
    readonly tracing: Tracing | undefined;
  },
): Gateway {
  const { maxBodyBytes, maxBufferedBytes, maxAttempts } = config.traffic.limits;
  return createGateway({
    store,
    pools,
    log,
    homeNamespace: config.homeNamespace,
    tls: more.tls?.pair,
    tracing: more.tracing,
    limits: { bodyBytes: maxBodyBytes, bufferedBytes: maxBufferedBytes, attempts: maxAttempts },
    metrics: createTrafficMetrics(registry),
    accessLog: createAccessLog({
      choice: config.traffic.accessLog,
      level: config.log.level,
      role: config.command,
      write: accessLogWriter(config.log.format, more.lines),
      now: Date.now,
      random: Math.random,
    }),
  });
}

/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopOnSignals(log: Log): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
      log.info({ signal: name }, 'Stopping; a second signal ends it at once');
      stop.abort();
    });
  }
  return stop.signal;
}

/** Settles when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Why the process should get no traffic; undefined when it should. */
export function unreadyReason(stop: AbortSignal, store: Store): string | undefined {
  if (stop.aborted) return 'stopping';
  if (store.synced) return undefined;
  const why = store.unsyncedReason?.();
  return `the first complete list of the resources is not in yet${why === undefined ? '' : `: ${why}`}`;
}

/**
 * Listens where asked; if `mayMove`, on the next free port of ten, then on any. Every interface (`::`) means those of
 * IPv4 on a machine without IPv6. Throws ConfigError if it can't.
 */
export async function listenOn<T>(
  address: Address,
  mayMove: boolean,
  listen: (host: string, port: number) => Promise<T>,
): Promise<T> {
  const ports = mayMove ? [...Array.from({ length: 10 }, (_, i) => address.port + i), 0] : [address.port];
  let { host } = address;
  for (let tried = 0; ; ) {
    const port = ports[tried] ?? 0;
    try {
      return await listen(host, port);
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === 'EADDRINUSE' && tried + 1 < ports.length) tried += 1;
      else if (code === 'EAFNOSUPPORT' && host === '::') host = '0.0.0.0';
      else throw new ConfigError(`Cannot listen on ${host}:${port}: ${explain(error)}`);
    }
  }
}

/** The address with the port that was really taken, as flags and logs write one. */
export function listenedOn({ address, port }: AddressInfo): Address {
  return { host: address, port };
}

const remedies: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    EADDRINUSE:
      'another program listens there; choose another address with --listen or --admin-listen, or stop it.',
    EEXIST: 'a file stands where a folder is needed; move it away, or choose another folder.',
    ENOTDIR: 'a file stands where a folder is needed; move it away, or choose another folder.',
    EAFNOSUPPORT: 'this machine does not speak that family of addresses; use 127.0.0.1 or 0.0.0.0.',
    EADDRNOTAVAIL: 'this machine has no such address; use 127.0.0.1 or one of its own.',
    EROFS: 'the file system is read-only; choose another folder with --manifests or --data.',
    ENOSPC: 'the disk is full; make room.',
  }),
);

/** Of a file or folder, or of an address to listen on. */
function remedyFor(code: string, isPath: boolean): string | undefined {
  if (code !== 'EACCES') return remedies.get(code);
  return isPath
    ? 'this user may not; choose a folder that it may write to with --manifests and --data.'
    : 'this user may not; use a port above 1023.';
}

/** An error for people, on one line: what went wrong and, for system errors, what to do about it. */
export function explain(error: unknown): string {
  const [text, code] = [errorText(error), errorCode(error)];
  const isPath = error instanceof Error && 'path' in error;
  const remedy = code === undefined ? undefined : remedyFor(code, isPath);
  return remedy === undefined ? text : `${text}: ${remedy}`;
}
