import { randomBytes, type X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, isIP } from 'node:net';
import process from 'node:process';
import { prepareQuickStart, quickStartKey, welcome } from './cli/quick-start.ts';
import type { StandaloneConfig, StartConfig } from './config.ts';
import { systemClock } from './controller/clock.ts';
import { observeResources } from './controller/resource-standings.ts';
import { runController } from './controller/run.ts';
import { manifestRemarks, observeManifests } from './manifest-remarks.ts';
import { startAdminServer } from './observe/admin-server.ts';
import type { Log } from './observe/log.ts';
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
import { sealingRecipient } from './resources/sealed-key.ts';
import { secretValue } from './resources/secret.ts';
import type { StandaloneConsole } from './standalone-console.ts';
import { openDirectoryStore } from './store/directory.ts';
import { lockFolder } from './store/folder-lock.ts';
import type { Store } from './store/store.ts';
import { openTrafficTls } from './traffic-tls.ts';
import { Pools } from './upstream/pools.ts';

/** How long the quick start waits for its key and a first model before it says how things stand. */
const quickStartWaitMs = 10_000;
/** That of manifests which name none. */
const quickStartNamespace = 'default';

/** What the quick start needs of the mode that it starts. */
interface Serving {
  readonly store: Store;
  readonly baseURL: string;
  /** Whether another port was taken than the default one. */
  readonly moved: boolean;
  /** Where the console is opened, once; undefined when it is not served. */
  readonly console: string | undefined;
  /** Aborts when the process stops. */
  readonly signal: AbortSignal;
}

/** Both roles in one process, on a folder. `started` is called once traffic is served. */
export async function runStandalone(
  config: StandaloneConfig | StartConfig,
  started: (serving: Serving) => Promise<void> = async () => {},
): Promise<void> {
  const { log, registry } = observe(config);
  const stop = stopOnSignals(log);
  const work = new AbortController();
  const tls = await openTrafficTls(config.traffic.tls, log, registry);
  const store = await openDirectoryStore({
    manifests: config.manifests,
    data: config.data,
    homeNamespace: config.homeNamespace,
    log,
    now: Date.now,
    randomBytes,
    signal: work.signal,
  });
  observeResources(store, registry);
  observeManifests(store, registry);
  const pools = new Pools({ rules: { allowLoopback: true } });
  const otlp = await exportTelemetry(config, log, registry);
  const gateway = createTraffic(config, store, pools, log, registry, { tls, tracing: otlp?.tracing });
  tls?.follow(gateway, work.signal);
  const isStart = config.command === 'start';
  const listen = await listenOn(config.traffic.listen, isStart && !config.listenGiven, gateway.listen);
  const admin = await listenOn(config.adminListen, isStart && !config.adminListenGiven, (host, port) =>
    startAdminServer({
      host,
      port,
      registry,
      unready: () => unreadyReason(stop, store),
      remarks: () => manifestRemarks(store),
    }),
  );
  const scheme = tls === undefined ? 'http' : 'https';
  const host = urlHost(config.traffic.listen.host, tls?.pair.certificate);
  const baseURL = config.gatewayURL ?? `${scheme}://${host}:${listen.port}/v1`;
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
  const { manifests, data: dataFolder } = config;
  log.info({ listen: listenedOn(admin.address) }, 'Serving probes and metrics');
  log.info({ listen, baseURL, manifests, dataFolder }, 'Serving');
  const moved = isStart && !config.listenGiven && listen.port !== config.traffic.listen.port;
  const console = config.console ? await consoleOf(config, baseURL, admin.address, log) : undefined;
  await started({ store, baseURL, moved, console: console?.address, signal: stop });
  await aborted(stop);
  await console?.close();
  await gateway.drain(config.traffic.drainSeconds * 1000);
  work.abort();
  await controller.catch(() => {});
  await pools.destroy();
  await store.closed;
  await otlp?.close();
  await admin.close();
  log.info('Stopped');
}

/** Loaded only where it is served: it doubles what the process loads. */
async function consoleOf(
  { manifests, data, homeNamespace, gatewayURL, traffic }: StandaloneConfig | StartConfig,
  baseURL: string,
  admin: AddressInfo,
  log: Log,
): Promise<StandaloneConsole | undefined> {
  const { serveConsole } = await import('./standalone-console.ts');
  const adminListen = listenedOn(admin);
  // Behind an address of its own the gateway shows another certificate.
  const gatewayCA = gatewayURL === undefined ? traffic.tls?.cert : undefined;
  return serveConsole({ manifests, data, homeNamespace, adminListen, baseURL, gatewayCA, log });
}

/** Standalone mode on a folder made on the first run, with something that answers and a command to paste. */
export async function runQuickStart(config: StartConfig): Promise<void> {
  await refuseSecondStart(config.data);
  const quickStart = await prepareQuickStart({
    manifests: config.manifests,
    upstream: config.upstream,
    openAIKey: process.env['OPENAI_API_KEY'] || undefined,
  });
  const { manifests } = config;
  const { node, declareOpenAI } = quickStart;
  try {
    await runStandalone(config, async ({ store, baseURL, moved, console, signal }) => {
      const soon = () => AbortSignal.any([signal, AbortSignal.timeout(quickStartWaitMs)]);
      const apiKey = await eventually(store, soon(), async () => {
        const secret = await store.readSecret(quickStartNamespace, quickStartKey.secretName, signal);
        return secret === undefined ? undefined : secretValue(secret, 'apiKey');
      });
      if (declareOpenAI !== undefined) {
        const identity = await eventually(store, soon(), () => store.sealingIdentities()[0]);
        if (identity !== undefined) await declareOpenAI(await sealingRecipient(identity));
      }
      const model =
        node === undefined
          ? undefined
          : (await eventually(store, soon(), () => firstModel(store, node.name)))?.model;
      const notices = [...quickStart.notices];
      if (moved) {
        notices.unshift(
          `Port ${config.traffic.listen.port} is taken; another one is used. --listen HOST:PORT chooses it.`,
        );
      }
      if (config.traffic.tls !== undefined) {
        notices.push(
          'A certificate of a private authority needs `--cacert FILE` for curl and NODE_EXTRA_CA_CERTS=FILE for Node.js.',
        );
      }
      if (signal.aborted) return;
      process.stdout.write(welcome({ version, baseURL, apiKey, manifests, console, node, model, notices }));
    });
  } finally {
    await quickStart.close();
  }
}

/** Before anything is written: the manifests of one that runs hold the port of its demo. Throws FolderLockError. */
async function refuseSecondStart(data: string): Promise<void> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const unlock = lockFolder(data);
  unlock();
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

/** The first model of a node that a chat can be tried with, by name; undefined while the node may still answer. */
function firstModel(store: Store, name: string): { readonly model: string | undefined } | undefined {
  const { models = [], phase } = store.get('UpstreamNode', quickStartNamespace, name)?.status ?? {};
  const enabled = models.filter((model) => model.enabled);
  const chat = enabled.find(({ name: model }) =>
    /gpt-\d|chat|instruct|llama|qwen|mistral|gemma/i.test(model),
  );
  const model = (chat ?? enabled[0])?.name;
  return model === undefined && phase !== 'error' && phase !== 'offline' ? undefined : { model };
}

/** The host as callers write it. One that the certificate is not for gives way to `localhost` if that is in it. */
function urlHost(listened: string, certificate: X509Certificate | undefined): string {
  const host = listened === '::' || listened === '0.0.0.0' ? '127.0.0.1' : listened;
  if (certificate !== undefined && isIP(host) !== 0 && certificate.checkIP(host) === undefined) {
    if (certificate.checkHost('localhost') !== undefined) return 'localhost';
  }
  return host.includes(':') ? `[${host}]` : host;
}
