import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { Registry } from 'prom-client';
import { prepareQuickStart, quickStartKey, welcome } from './cli/quick-start.ts';
import { readSecret } from './cli/read-secret.ts';
import { SealError, seal } from './cli/seal.ts';
import {
  type Address,
  ConfigError,
  type ControllerConfig,
  type GatewayConfig,
  readConfig,
  type SealConfig,
  type ServingConfig,
  type StandaloneConfig,
  type StartConfig,
  type TrafficConfig,
} from './config.ts';
import { systemClock } from './controller/clock.ts';
import { runController } from './controller/run.ts';
import { helpText } from './flags.ts';
import { createGateway, type Gateway } from './gateway/gateway.ts';
import { connectKube, type KubeClient } from './kube/client.ts';
import { createEventRecorder } from './kube/events.ts';
import { runLeaderElection } from './kube/lease.ts';
import { startAdminServer } from './observe/admin-server.ts';
import { createLog, type Log } from './observe/log.ts';
import {
  createApiRequestMetric,
  createLeaderMetric,
  createRegistry,
  createRequestMetrics,
  createStoreMetrics,
} from './observe/metrics.ts';
import { productVersion } from './observe/version.ts';
import { sealingRecipient } from './resources/sealed-key.ts';
import { secretValue } from './resources/secret.ts';
import { openDirectoryStore } from './store/directory.ts';
import { openKubernetesStore } from './store/kubernetes.ts';
import type { Store } from './store/store.ts';
import { Pools } from './upstream/pools.ts';

const version = productVersion();
/** How long a gateway in a cluster takes new requests after SIGTERM: endpoints lag behind. */
const endpointLagMs = 5_000;
const leaseName = 'model-gateway-controller';
/** How long the quick start waits for its key and a first model before it says how things stand. */
const quickStartWaitMs = 10_000;

await main().catch((error: unknown) => {
  const isOurs = error instanceof ConfigError || error instanceof SealError;
  process.stderr.write(`model-gateway: ${explain(error)}\n`);
  process.exit(isOurs ? 2 : 1);
});

async function main(): Promise<void> {
  const config = readConfig(process.argv.slice(2), process.env);
  switch (config.command) {
    case 'help':
      process.stdout.write(helpText(config.of));
      return;
    case 'version':
      process.stdout.write(`model-gateway ${version}\n`);
      return;
    case 'seal':
      return runSeal(config);
    case 'start':
      return runQuickStart(config);
    case 'standalone':
      return runStandalone(config);
    case 'controller':
      return runClusterController(config);
    case 'gateway':
      return runClusterGateway(config);
  }
}

/** Both roles in one process, on a folder. `started` is called once traffic is served. */
async function runStandalone(
  config: StandaloneConfig | StartConfig,
  started: (store: Store, baseURL: string, signal: AbortSignal) => Promise<void> = async () => {},
): Promise<void> {
  const { log, registry } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const store = await openDirectoryStore({
    manifests: config.manifests,
    data: config.data,
    homeNamespace: config.homeNamespace,
    log,
    now: Date.now,
    randomBytes,
    signal: work.signal,
  });
  const pools = new Pools({ rules: { allowLoopback: true } });
  const gateway = createTraffic(config, store, pools, log, registry);
  const isStart = config.command === 'start';
  const address = await listenNear(config.traffic.listen, isStart && !config.listenGiven, gateway.listen);
  const admin = await listenNear(config.adminListen, isStart && !config.adminListenGiven, (host, port) =>
    startAdminServer({ host, port, registry, unready: () => unreadyReason(stop, store) }),
  );
  const baseURL = config.gatewayURL ?? `http://${urlHost(config.traffic.listen.host)}:${address.port}/v1`;
  const controller = runController({
    store,
    pools,
    log,
    registry,
    clock: systemClock,
    random: Math.random,
    randomBytes,
    gatewayURL: baseURL,
    homeNamespace: config.homeNamespace,
    signal: work.signal,
  });
  log.info({ baseURL, manifests: config.manifests, dataFolder: config.data }, 'Serving');
  await started(store, baseURL, stop);
  await aborted(stop);
  await gateway.drain(config.traffic.drainSeconds * 1000);
  work.abort();
  await controller.catch(() => {});
  await pools.destroy();
  await store.closed;
  await admin.close();
  log.info('Stopped');
}

/** Standalone mode on a folder made on the first run, with something that answers and a command to paste. */
async function runQuickStart(config: StartConfig): Promise<void> {
  const quickStart = await prepareQuickStart({
    manifests: config.manifests,
    upstream: config.upstream,
    openAIKey: process.env['OPENAI_API_KEY'] || undefined,
  });
  const { homeNamespace: namespace, manifests } = config;
  const { node, declareOpenAI } = quickStart;
  try {
    await runStandalone(config, async (store, baseURL, signal) => {
      const soon = () => AbortSignal.any([signal, AbortSignal.timeout(quickStartWaitMs)]);
      const apiKey = await eventually(store, soon(), async () => {
        const secret = await store.readSecret(namespace, quickStartKey.secretName, signal);
        return secret === undefined ? undefined : secretValue(secret, 'apiKey');
      });
      if (declareOpenAI !== undefined) {
        const identity = await eventually(store, soon(), () => store.sealingIdentities()[0]);
        if (identity !== undefined) await declareOpenAI(await sealingRecipient(identity));
      }
      const model =
        node === undefined
          ? undefined
          : await eventually(store, soon(), () => firstModel(store, namespace, node.name));
      const notices = [...quickStart.notices];
      if (URL.parse(baseURL)?.port !== String(config.traffic.listen.port)) {
        notices.unshift(
          `Port ${config.traffic.listen.port} is taken; another one is used. --listen HOST:PORT chooses it.`,
        );
      }
      if (signal.aborted) return;
      process.stdout.write(welcome({ version, baseURL, apiKey, manifests, node, model, notices }));
    });
  } finally {
    await quickStart.close();
  }
}

async function runClusterGateway(config: GatewayConfig): Promise<void> {
  const { log, registry } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const { client, store } = openCluster(config, log, registry, work.signal);
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  const gateway = createTraffic(config, store, pools, log, registry);
  const { host, port } = config.adminListen;
  const admin = await startAdminServer({ host, port, registry, unready: () => unreadyReason(stop, store) });
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  // Not before the first complete list: until then it would answer 401 to keys that are good.
  await store.whenSynced(stop).catch(() => {});
  if (!stop.aborted) {
    const listen = await gateway.listen(config.traffic.listen.host, config.traffic.listen.port);
    log.info({ listen, namespaces: config.namespaces }, 'Serving');
    await aborted(stop);
    await gateway.drain(config.traffic.drainSeconds * 1000, endpointLagMs);
  }
  work.abort();
  await pools.destroy();
  client.close();
  await admin.close();
  log.info('Stopped');
}

async function runClusterController(config: ControllerConfig): Promise<void> {
  const { log, registry } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const { client, store } = openCluster(config, log, registry, work.signal);
  const pools = new Pools({ rules: { allowLoopback: config.allowLoopbackUpstreams } });
  const { host, port } = config.adminListen;
  const admin = await startAdminServer({ host, port, registry, unready: () => unreadyReason(stop, store) });
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  const leading = createLeaderMetric(registry, leaseName);
  // Replicas that do not lead keep the same caches warm, so that a takeover costs nothing but the lease.
  const outcome = await runLeaderElection({
    client,
    namespace: config.homeNamespace,
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
        gatewayURL: config.gatewayURL,
        homeNamespace: config.homeNamespace,
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
  work.abort();
  await pools.destroy();
  client.close();
  await admin.close();
  log.info({ outcome }, 'Stopped');
}

async function runSeal(config: SealConfig): Promise<void> {
  const { flags } = config;
  if (flags.namespace !== undefined && flags.namespace.length > 1) {
    throw new ConfigError('--namespace may be given once here: a key is sealed for one node.');
  }
  const lines = await seal(
    {
      name: flags.name,
      baseURL: flags['base-url'],
      namespace: flags.namespace?.[0],
      recipient: flags.recipient,
      data: flags.data,
      homeNamespace: flags['home-namespace'],
    },
    () => connectKube({ kubeconfig: flags.kubeconfig, context: flags.context, userAgent: userAgent('seal') }),
    () => readSecret('API key (not shown): ', process.stdin, process.stderr),
  );
  process.stdout.write(lines);
}

function observe(config: ServingConfig & { readonly command: string }): { log: Log; registry: Registry } {
  const log = createLog({ ...config.log, role: config.command });
  const dieOf = (error: unknown): void => {
    log.fatal({ err: error }, 'Failed unexpectedly');
    process.exit(1);
  };
  process.on('uncaughtException', dieOf);
  process.on('unhandledRejection', dieOf);
  return { log, registry: createRegistry(version, config.command) };
}

function createTraffic(
  config: ServingConfig & { readonly traffic: TrafficConfig },
  store: Store,
  pools: Pools,
  log: Log,
  registry: Registry,
): Gateway {
  const { maxBodyBytes, maxBufferedBytes, maxAttempts } = config.traffic.limits;
  const metrics = createRequestMetrics(registry);
  const gateway = createGateway({
    store,
    pools,
    log,
    homeNamespace: config.homeNamespace,
    limits: { bodyBytes: maxBodyBytes, bufferedBytes: maxBufferedBytes, attempts: maxAttempts },
    onRequestDone: metrics.record,
  });
  metrics.observe({ inFlight: gateway.inFlight, openCircuits: gateway.openCircuits });
  return gateway;
}

function openCluster(
  config: ControllerConfig | GatewayConfig,
  log: Log,
  registry: Registry,
  signal: AbortSignal,
): { client: KubeClient; store: Store } {
  const client = connectKube({
    kubeconfig: config.kubeconfig,
    context: config.context,
    userAgent: userAgent(config.command),
    onResponse: createApiRequestMetric(registry),
  });
  const events = createEventRecorder({
    client,
    reportingController: `modelgateway.dev/${config.command}`,
    reportingInstance: config.instance,
    signal,
    onError: (error) => log.warn({ err: error }, 'An Event could not be written'),
  });
  const { namespaces, homeNamespace } = config;
  const metrics = createStoreMetrics(registry);
  return {
    client,
    store: openKubernetesStore({
      client,
      namespaces,
      homeNamespace,
      events,
      log,
      metrics,
      now: Date.now,
      signal,
    }),
  };
}

function userAgent(role: string): string {
  return `modelgateway/${version} (${role})`;
}

/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopOnSignals(log: Log): AbortSignal {
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function unreadyReason(stop: AbortSignal, store: Store): string | undefined {
  if (stop.aborted) return 'stopping';
  return store.synced ? undefined : 'the first complete list of the resources is not in yet';
}

/** Listens where asked; if `mayMove`, on the next free port of ten, then on any. Throws ConfigError if it can't. */
async function listenNear<T>(
  address: Address,
  mayMove: boolean,
  listen: (host: string, port: number) => Promise<T>,
): Promise<T> {
  const ports = mayMove ? [...Array.from({ length: 10 }, (_, i) => address.port + i), 0] : [address.port];
  for (const port of ports) {
    try {
      return await listen(address.host, port);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'EADDRINUSE' && port !== ports.at(-1)) continue;
      throw new ConfigError(`Cannot listen on ${address.host}:${port}: ${explain(error)}`);
    }
  }
  throw new ConfigError(`Cannot listen on ${address.host}: no port is free.`);
}

/** What `find` gives, tried again at each change of the store; undefined when `signal` aborts first. */
async function eventually<T>(
  store: Store,
  signal: AbortSignal,
  find: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const changed = Promise.withResolvers<void>();
    const unsubscribe = store.subscribe(() => changed.resolve());
    const found = await find();
    if (found === undefined) await Promise.race([changed.promise, aborted(signal)]);
    unsubscribe();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first model of a node that a chat can be tried with, by name. */
function firstModel(store: Store, namespace: string, name: string): string | undefined {
  const enabled =
    store.get('UpstreamNode', namespace, name)?.status?.models?.filter((model) => model.enabled) ?? [];
  const chat = enabled.find(({ name: model }) =>
    /gpt-\d|chat|instruct|llama|qwen|mistral|gemma/i.test(model),
  );
  return (chat ?? enabled[0])?.name;
}

/** The address with the port that was really taken, as flags and logs write one. */
function listenedOn({ address, port }: AddressInfo): Address {
  return { host: address, port };
}

function urlHost(host: string): string {
  if (host === '::' || host === '0.0.0.0') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program listens there; choose another address with --listen or --admin-listen, or stop it.',
  EACCES: 'this user may not; use a port above 1023 or a folder of your own.',
  EADDRNOTAVAIL: 'this machine has no such address; use 127.0.0.1 or one of its own.',
  EROFS: 'the file system is read-only; choose another folder with --manifests or --data.',
  ENOSPC: 'the disk is full; make room.',
};

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  const remedy = typeof code === 'string' ? remedies[code] : undefined;
  return remedy === undefined ? error.message : `${error.message}: ${remedy}`;
}
