import { randomBytes, randomUUID } from 'node:crypto';
import process from 'node:process';
import type { Registry } from 'prom-client';
import type { ControllerConfig, GatewayConfig } from '../config.ts';
import { systemClock } from '../controller/clock.ts';
import { observeResources } from '../controller/resource-standings.ts';
import { runController } from '../controller/run.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock as kubeClock, pause } from '../kube/clock.ts';
import { connectToCluster } from '../kube/connect-cluster.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { runLeaderElection } from '../kube/lease.ts';
import { startAdminServer } from '../observe/admin-server.ts';
import { createInternalErrors } from '../observe/internal-errors.ts';
import type { Log } from '../observe/log.ts';
import { createApiRequestMetric, createLeaderMetric, createStoreMetrics } from '../observe/metrics.ts';
import { openKubernetesStore } from '../store/cluster/kubernetes.ts';
import type { Store } from '../store/store.ts';
import { Pools } from '../upstream/pools.ts';
import {
  aborted,
  createTraffic,
  exportTelemetry,
  listenedOn,
  listenOn,
  observe,
  stopOnSignals,
  unreadyReason,
  version,
} from './process.ts';
import { openTrafficTls } from './traffic-tls.ts';

/** How long a gateway takes new requests after SIGTERM: endpoints lag behind. */
const endpointLagMs = 5_000;
const leaseName = 'model-gateway-controller';
/** How long a process that stops writes Events that were recorded before. */
const drainEventsMs = 5_000;

/** The gateway in a cluster: serves until SIGTERM, then drains. Settles when everything has ended. */
export async function runClusterGateway(config: GatewayConfig): Promise<void> {
  const { log, registry, lines } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const { client, store, homeNamespace, namespaces } = await openCluster(config, log, registry, work.signal);
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  const tls = await openTrafficTls(config.traffic.tls, log, registry);
  const otlp = await exportTelemetry(config, log, registry);
  const gateway = createTraffic({ ...config, homeNamespace }, store, pools, log, registry, {
    lines,
    tls,
    tracing: otlp?.tracing,
  });
  tls?.follow(gateway, work.signal);
  const admin = await listenOn(config.adminListen, false, (host, port) =>
    startAdminServer({ host, port, registry, unready: () => unreadyReason(stop, store) }),
  );
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  // Not before the first complete list: until then it would answer 401 to keys that are good.
  await store.whenSynced(stop).catch(() => {});
  if (!stop.aborted) {
    const listen = await listenOn(config.traffic.listen, false, gateway.listen);
    log.info({ listen, namespaces }, 'Serving');
    await aborted(stop);
    await gateway.drain(config.traffic.drainSeconds * 1000, endpointLagMs);
  }
  work.abort();
  await pools.destroy();
  client.close();
  await otlp?.close();
  await admin.close();
  log.info('Stopped');
}

/** The controller in a cluster: waits for the lease and works while it holds it. A lost lease ends the process. */
export async function runClusterController(config: ControllerConfig): Promise<void> {
  const { log, registry } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const { client, store, events, homeNamespace } = await openCluster(config, log, registry, work.signal);
  observeResources(store, registry);
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  const admin = await listenOn(config.adminListen, false, (host, port) =>
    startAdminServer({ host, port, registry, unready: () => unreadyReason(stop, store) }),
  );
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  const otlp = await exportTelemetry(config, log, registry);
  const leading = createLeaderMetric(registry, leaseName);
  // Replicas that do not lead keep the same caches warm, so that a takeover costs nothing but the lease. A replica without
  // complete caches could do nothing with the lease, and would keep it from one that can.
  await store.whenSynced(stop).catch(() => {});
  const outcome = await runLeaderElection({
    client,
    namespace: homeNamespace,
    name: leaseName,
    identity: `${config.instance}_${randomUUID()}`,
    signal: stop,
    onStartedLeading: async ({ signal, isValid }) => {
      log.info({ lease: leaseName }, 'Started leading');
      leading(true);
      await runController({
        store,
        pools,
        log,
        registry,
        clock: systemClock,
        random: Math.random,
        randomBytes,
        gatewayURL: config.gatewayURL ?? `http://model-gateway.${homeNamespace}.svc/v1`,
        homeNamespace,
        signal,
        isLeaderValid: isValid,
      }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      leading(false);
    },
    onLost: () => {
      // What this process still has in flight must not outlive its lease.
      log.fatal({ lease: leaseName }, 'Lost the lease');
      process.exit(1);
    },
    onNewLeader: (identity) => log.info({ lease: leaseName, identity }, 'Another replica leads'),
    onError: (error) =>
      log.warn({ err: error, lease: leaseName }, 'The lease could not be acquired or renewed'),
  });
  await Promise.race([events.drain(), pause(kubeClock, drainEventsMs, work.signal)]);
  work.abort();
  await pools.destroy();
  client.close();
  await otlp?.close();
  await admin.close();
  log.info({ outcome }, 'Stopped');
}

interface OpenedCluster {
  readonly client: KubeClient;
  readonly store: Store;
  readonly events: EventRecorder;
  readonly homeNamespace: string;
  readonly namespaces: readonly string[] | 'all';
}

async function openCluster(
  config: ControllerConfig | GatewayConfig,
  log: Log,
  registry: Registry,
  signal: AbortSignal,
): Promise<OpenedCluster> {
  const client = await connectToCluster({
    kubeconfig: config.kubeconfig,
    context: config.context,
    userAgent: `modelgateway/${version} (${config.command})`,
    onResponse: createApiRequestMetric(registry),
  });
  const events = createEventRecorder({
    client,
    reportingController: `modelgateway.dev/${config.command}`,
    reportingInstance: config.instance,
    signal,
    onError: (error) => log.warn({ err: error }, 'An Event could not be written'),
  });
  const homeNamespace = config.homeNamespace ?? client.namespace();
  const namespaces = config.namespaces ?? [client.namespace()];
  const metrics = createStoreMetrics(registry);
  const now = Date.now;
  const store = openKubernetesStore({
    client,
    namespaces,
    secretNamespaces: config.secretNamespaces,
    homeNamespace,
    events,
    log,
    metrics,
    internalErrors: createInternalErrors(registry, log),
    now,
    signal,
  });
  return { client, store, events, homeNamespace, namespaces };
}
