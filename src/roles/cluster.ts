import { randomUUID } from 'node:crypto';
import process from 'node:process';
import type { ControllerConfig, GatewayConfig } from '../config.ts';
import { observeResources } from '../controller/resource-standings.ts';
import type { KubeClient } from '../kube/client.ts';
import { systemClock as kubeClock, pause } from '../kube/clock.ts';
import { connectToCluster } from '../kube/connect-cluster.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { runLeaderElection } from '../kube/lease.ts';
import { createClaimMetrics } from '../observe/claim-metrics.ts';
import { debugEndpoints } from '../observe/debug-endpoints.ts';
import { createInternalErrors } from '../observe/internal-errors.ts';
import { createApiRequestMetric, createLeaderMetric } from '../observe/metrics.ts';
import { createReportMetrics } from '../observe/report-metrics.ts';
import { createStoreMetrics } from '../observe/store-metrics.ts';
import { AppliedVersions } from '../store/cluster/applied-versions.ts';
import { followReports } from '../store/cluster/follow-reports.ts';
import { openKubernetesStore } from '../store/cluster/kubernetes.ts';

import { NamespaceClaims } from '../store/cluster/namespace-claims.ts';

import { type OwnReport, writeOwnReport } from '../store/cluster/own-report.ts';

import type { Store } from '../store/store.ts';
import { Pools } from '../upstream/pools.ts';
import { aborted, listenOn, version } from './process.ts';
import {
  beginRole,
  control,
  createTraffic,
  endRole,
  exportTelemetry,
  type Role,
  serveAdmin,
} from './role.ts';
import { openTrafficTls } from './traffic-tls.ts';

const leaseName = 'model-gateway-controller';
/** How long an installation may fail to renew its claim of a namespace before another one takes it. */
const defaultClaimSeconds = 900;
/** How long the controller waits for the reports of gateways before it works without them. */
const askReportsMs = 5_000;
/** How long a process that stops writes Events that were recorded before. */
const drainEventsMs = 5_000;

/** The gateway in a cluster: serves until SIGTERM, then drains. Settles when everything has ended. */
export async function runClusterGateway(config: GatewayConfig): Promise<void> {
  const role = beginRole(config);
  const { log, registry, stop } = role;
  const applied = new AppliedVersions();
  let report: OwnReport | undefined;
  const { client, store, homeNamespace, namespaces } = await openCluster(role, applied, async (cluster) => {
    report = reportOf(role, cluster, applied);
    await report.begun;
  });
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  const tls = await openTrafficTls(config.traffic.tls, log, registry);
  const otlp = await exportTelemetry(role);
  const gateway = createTraffic(role, homeNamespace, { store, pools, tls, otlp });
  const admin = await serveAdmin(role, store, config.adminDebug ? { debug: debugEndpoints(log) } : {});
  // Before the first complete list it would answer 401 to keys that are good.
  await store.whenSynced(stop).catch(() => {});
  if (!stop.aborted) {
    const listen = await listenOn(config.traffic.listen, false, gateway.listen);
    log.info({ listen, namespaces }, 'Serving');
    report?.enter('Serving', () => ({
      requestsInFlight: gateway.inFlight(),
      circuits: gateway.notClosedCircuits(),
    }));
    await aborted(stop);
    report?.enter('Draining');
    await gateway.drain(config.traffic.drainSeconds * 1000, config.traffic.endpointLagSeconds * 1000);
  }
  await endRole(role, { pools, otlp, admin }, async () => {
    await report?.end();
    client.close();
  });
}

/** The controller in a cluster: waits for the lease and works while it holds it. A lost lease ends the process. */
export async function runClusterController(config: ControllerConfig): Promise<void> {
  const role = beginRole(config);
  const { log, registry, stop } = role;
  const { contacts } = config;
  const { client, store, events, homeNamespace } = await openCluster(role);
  observeResources(store, registry);
  const { className } = config;
  const { signal: working } = role.work;
  const reports = followReports({
    client,
    homeNamespace,
    className,
    warn: (fields, message) => log.warn(fields, message),
    clock: kubeClock,
    signal: working,
  });
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  let claims: NamespaceClaims | undefined;
  const admin = await serveAdmin(role, store, {
    ...(config.adminDebug ? { debug: debugEndpoints(log) } : {}),
    remarks: () => [...(store.remarks?.() ?? []), ...(claims?.remarks() ?? [])],
  });
  const otlp = await exportTelemetry(role);
  const claimMetrics = createClaimMetrics(registry);
  const leading = createLeaderMetric(registry, leaseName);
  // Replicas that do not lead keep the same caches, so that a takeover takes only the lease. A replica without complete
  // caches could do nothing with the lease, and would keep it from one that can.
  await store.whenSynced(stop).catch(() => {});
  // Else the status of a key that changes now would say nothing of the gateways.
  await Promise.race([reports.asked, pause(kubeClock, askReportsMs, stop)]);
  const outcome = await runLeaderElection({
    client,
    namespace: homeNamespace,
    name: leaseName,
    identity: `${config.instance}_${randomUUID()}`,
    signal: stop,
    leaseSeconds: config.leaseSeconds,
    onStartedLeading: async ({ signal, isValid }) => {
      log.info({ lease: leaseName }, 'Started leading');
      leading(true);
      claims = new NamespaceClaims({
        client,
        store,
        homeNamespace,
        className: config.className,
        claimSeconds: config.claimSeconds ?? defaultClaimSeconds,
        leaderLease: leaseName,
        events,
        log,
        metrics: claimMetrics,
        clock: kubeClock,
        signal,
      });
      claims.start();
      await control(role, {
        store,
        pools,
        gatewayURL: config.gatewayURL ?? `http://model-gateway.${homeNamespace}.svc/v1`,
        homeNamespace,
        workers: config.workers,
        reports,
        contacts: contacts === undefined ? undefined : { inAll: contacts, perHost: Math.ceil(contacts / 2) },
        signal,
        isLeaderValid: isValid,
        claims,
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
  await Promise.race([events.drain(), pause(kubeClock, drainEventsMs, role.work.signal)]);
  await endRole(role, { pools, otlp, admin }, () => client.close(), { outcome });
}

interface OpenedCluster {
  readonly client: KubeClient;
  readonly store: Store;
  readonly events: EventRecorder;
  readonly homeNamespace: string;
  readonly namespaces: readonly string[] | 'all';
}

/** The report of this gateway, in the home namespace. */
function reportOf(
  { config, log, registry, work }: Role<GatewayConfig>,
  { client, homeNamespace }: Pick<OpenedCluster, 'client' | 'homeNamespace'>,
  applied: AppliedVersions,
): OwnReport {
  return writeOwnReport({
    client,
    homeNamespace,
    name: config.pod === undefined ? reportName(config.instance) : config.instance,
    podUID: config.pod?.namespace === homeNamespace ? config.pod.uid : undefined,
    className: config.className,
    version,
    applied,
    log,
    metrics: createReportMetrics(registry),
    clock: kubeClock,
    random: Math.random,
    signal: work.signal,
  });
}

/** The name of a machine may hold capitals and more, which a name of an object may not. */
function reportName(instance: string): string {
  const words = instance
    .toLowerCase()
    .slice(0, 253)
    .split(/[^a-z0-9]/);
  return (
    words
      .filter((word) => word !== '')
      .join('-')
      .slice(0, 253) || 'model-gateway'
  );
}

/** `begin` runs before the first list is read. */
async function openCluster(
  { config, log, registry, work: { signal } }: Role<ControllerConfig | GatewayConfig>,
  applied?: AppliedVersions,
  begin: (cluster: Pick<OpenedCluster, 'client' | 'homeNamespace'>) => Promise<void> = async () => {},
): Promise<OpenedCluster> {
  const client = await connectToCluster({
    kubeconfig: config.kubeconfig,
    context: config.context,
    userAgent: `modelgateway/${version} (${config.command})`,
    onResponse: createApiRequestMetric(registry),
    inFlight: config.apiConcurrency,
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
  await begin({ client, homeNamespace });
  const store = openKubernetesStore({
    client,
    namespaces,
    secretNamespaces: config.secretNamespaces,
    homeNamespace,
    namespaceSelector: config.namespaceSelector,
    className: config.className,
    events,
    log,
    metrics: createStoreMetrics(registry),
    internalErrors: createInternalErrors(registry, log),
    now: Date.now,
    applied,
    signal,
  });
  return { client, store, events, homeNamespace, namespaces };
}
