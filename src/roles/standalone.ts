import { randomBytes, type X509Certificate } from 'node:crypto';
import { type AddressInfo, isIP } from 'node:net';
import type { StandaloneConfig, StartConfig } from '../config.ts';
import { observeResources } from '../controller/resource-standings.ts';
import { createInternalErrors } from '../observe/internal-errors.ts';
import type { Log } from '../observe/log.ts';
import { type DirectoryStore, openDirectoryStore } from '../store/folder/directory.ts';
import { Pools } from '../upstream/pools.ts';
import { manifestRemarks, observeManifests } from './manifest-remarks.ts';
import { aborted, listenedOn, listenOn } from './process.ts';
import { beginRole, control, createTraffic, endRole, exportTelemetry, serveAdmin } from './role.ts';
import type { StandaloneConsole } from './standalone-console.ts';
import { openTrafficTls } from './traffic-tls.ts';

/** What the quick start needs to know of the process that it starts. */
interface Serving {
  readonly store: DirectoryStore;
  readonly baseURL: string;
  /** Whether another port was taken than the default one. */
  readonly moved: boolean;
  /** An address of the console, good for one browser; undefined if it is not served. */
  readonly console: string | undefined;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** Both roles in one process, on a folder. `started` is called once traffic is served. */
export async function runStandalone(
  config: StandaloneConfig | StartConfig,
  started: (serving: Serving) => Promise<void> = async () => {},
): Promise<void> {
  const role = beginRole(config);
  const { log, registry, stop, work } = role;
  const tls = await openTrafficTls(config.traffic.tls, log, registry);
  const store = await openDirectoryStore({
    manifests: config.manifests,
    data: config.data,
    homeNamespace: config.homeNamespace,
    log,
    internalErrors: createInternalErrors(registry, log),
    now: Date.now,
    randomBytes,
    signal: work.signal,
  });
  observeResources(store, registry);
  observeManifests(store, registry);
  const pools = new Pools({ rules: { allowLoopback: true } });
  const otlp = await exportTelemetry(role);
  const gateway = createTraffic(role, config.homeNamespace, { store, pools, tls, otlp });
  const isStart = config.command === 'start';
  const listen = await listenOn(config.traffic.listen, isStart && !config.listenGiven, gateway.listen);
  const admin = await serveAdmin(role, store, {
    mayMove: isStart && !config.adminListenGiven,
    remarks: () => manifestRemarks(store),
  });
  const scheme = tls === undefined ? 'http' : 'https';
  const host = urlHost(config.traffic.listen.host, tls?.pair.certificate);
  const baseURL = config.gatewayURL ?? `${scheme}://${host}:${listen.port}/v1`;
  const controller = control(role, {
    store,
    pools,
    gatewayURL: baseURL,
    homeNamespace: config.homeNamespace,
    signal: work.signal,
  });
  const { manifests, data: dataFolder } = config;
  log.info({ listen, baseURL, manifests, dataFolder }, 'Serving');
  const moved = isStart && !config.listenGiven && listen.port !== config.traffic.listen.port;
  const console = config.console ? await consoleOf(config, baseURL, admin.address, log) : undefined;
  await started({ store, baseURL, moved, console: console?.address, signal: stop });
  await aborted(stop);
  await console?.close();
  await gateway.drain(config.traffic.drainSeconds * 1000);
  await endRole(role, { pools, otlp, admin }, async () => {
    await controller.catch(() => {});
    await store.closed;
  });
}

/** Loaded only if it is served, because it doubles what the process loads. */
async function consoleOf(
  { manifests, data, homeNamespace, gatewayURL, traffic }: StandaloneConfig | StartConfig,
  baseURL: string,
  admin: AddressInfo,
  log: Log,
): Promise<StandaloneConsole | undefined> {
  const { serveConsole } = await import('./standalone-console.ts');
  const adminListen = listenedOn(admin);
  // Callers who use another address of the gateway may see another certificate.
  const gatewayCA = gatewayURL === undefined ? traffic.tls?.cert : undefined;
  return serveConsole({ manifests, data, homeNamespace, adminListen, baseURL, gatewayCA, log });
}

/** The host as callers write it; `localhost` if the certificate names that, and not the address. */
function urlHost(listened: string, certificate: X509Certificate | undefined): string {
  const host = listened === '::' || listened === '0.0.0.0' ? '127.0.0.1' : listened;
  if (certificate !== undefined && isIP(host) !== 0 && certificate.checkIP(host) === undefined) {
    if (certificate.checkHost('localhost') !== undefined) return 'localhost';
  }
  return host.includes(':') ? `[${host}]` : host;
}
