import type { Registry } from 'prom-client';
import { createGateway, type Gateway } from '../../src/gateway/gateway.ts';
import type { Limits } from '../../src/gateway/limits.ts';
import type { RequestDone } from '../../src/gateway/server/progress.ts';
import { type AccessLogChoice, createAccessLog } from '../../src/observe/access-log.ts';
import { createLog, type LogLevel } from '../../src/observe/log.ts';
import { createTrafficMetrics, type TrafficMetrics } from '../../src/observe/traffic-metrics.ts';
import type { ApiKey } from '../../src/resources/api-key.ts';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import { parseStored } from '../../src/resources/parse.ts';
import { Content } from '../../src/store/content.ts';
import type { Store } from '../../src/store/store.ts';
import type { TlsPair } from '../../src/tls/tls-pair.ts';
import { Pools } from '../../src/upstream/pools.ts';
import { type ScriptedUpstream, startUpstream } from './upstream.ts';

/** A gateway on loopback with a store in memory, for tests of the request path. */
export interface GatewayUnderTest {
  readonly gateway: Gateway;
  readonly content: Content;
  /** With `/v1`. */
  readonly baseURL: string;
  readonly origin: string;
  readonly port: number;
  /** A key of the namespace `default` that may use every model. */
  readonly key: string;
  /** Requests whose end was told, in order. */
  readonly done: RequestDone[];
  /** How attempts ended, in order: `namespace/name outcome`. */
  readonly attempted: string[];
  /** Everything logged. */
  readonly logged: string[];
  /** Starts an upstream and declares a node for it, serving the model `m` in the namespace `default`. */
  addNode(name: string, options?: NodeOptions): Promise<ScriptedUpstream>;
  /** Declares a node; to be called again to change it. */
  setNode(
    name: string,
    spec: Record<string, unknown>,
    more?: { namespace?: string; status?: unknown; metadata?: object },
  ): void;
  addKey(
    spec?: Record<string, unknown>,
    more?: { kind?: 'APIKey' | 'MasterKey'; namespace?: string; metadata?: object },
  ): string;
  /** POSTs JSON with the key. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

export interface NodeOptions {
  readonly spec?: Record<string, unknown>;
  readonly upstream?: Parameters<typeof startUpstream>[0];
}

const apiVersion = 'modelgateway.dev/v1alpha1';

export async function startGateway(
  options: {
    limits?: Partial<Limits>;
    logLevel?: LogLevel;
    random?: () => number;
    accessLog?: AccessLogChoice;
    /** Speak TLS. */
    tls?: TlsPair;
    /** Where it listens; 127.0.0.1 by default. */
    host?: string;
    /** Where the metrics are registered. */
    registry?: Registry;
    /** In place of metrics of `registry`. */
    metrics?: TrafficMetrics;
  } = {},
): Promise<GatewayUnderTest> {
  const logged: string[] = [];
  const log = createLog({
    level: options.logLevel ?? 'debug',
    format: 'json',
    role: 'test',
    destination: { write: (line: string) => void logged.push(line) },
  });
  const content = new Content({
    log,
    sealingNamespace: 'default',
    openSealed: () => Promise.reject(new Error('no sealed keys here')),
  });
  const done: RequestDone[] = [];
  const attempted: string[] = [];
  const pools = new Pools({ rules: { allowLoopback: true } });
  const metrics = options.metrics ?? createTrafficMetrics(options.registry);
  const gateway = createGateway({
    store: storeOf(content),
    pools,
    log,
    homeNamespace: 'default',
    tls: options.tls,
    onRequestDone: (record) => done.push(record),
    accessLog: createAccessLog({
      choice: options.accessLog ?? 'failed',
      level: options.logLevel ?? 'debug',
      role: 'test',
      write: (line) => void logged.push(line),
      now: Date.now,
      random: Math.random,
    }),
    metrics: {
      ...metrics,
      attempts: {
        ...metrics.attempts,
        attempted(node, outcome) {
          attempted.push(`${node} ${outcome}`);
          metrics.attempts.attempted(node, outcome);
        },
      },
    },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.random === undefined ? {} : { random: options.random }),
  });
  const { port } = await gateway.listen(options.host ?? '127.0.0.1', 0);
  const origin = `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const upstreams: ScriptedUpstream[] = [];
  let names = 0;

  const set = (kind: string, namespace: string, name: string, rest: object): void => {
    const { metadata, ...fields } = rest as { metadata?: object };
    const parsed = parseStored({
      apiVersion,
      kind,
      metadata: { namespace, name, uid: name, ...metadata },
      ...fields,
    });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    if (parsed.resource.kind === 'Secret') throw new Error('not a Secret');
    content.set(parsed.resource);
  };
  const test: GatewayUnderTest = {
    gateway,
    content,
    origin,
    port,
    baseURL: `${origin}/v1`,
    key: '',
    done,
    attempted,
    logged,
    setNode(name, spec, { namespace = 'default', status, metadata = {} } = {}) {
      set('UpstreamNode', namespace, name, { metadata, spec, ...(status === undefined ? {} : { status }) });
    },
    async addNode(name, { spec = {}, upstream: upstreamOptions } = {}) {
      const upstream = await startUpstream({ models: ['m'], ...upstreamOptions });
      upstreams.push(upstream);
      test.setNode(name, { baseURL: upstream.url, manualModels: ['m'], ...spec });
      return upstream;
    },
    addKey(spec = {}, { kind = 'APIKey', namespace = 'default', metadata } = {}) {
      const text = generateKeyText(kind === 'APIKey' ? 'api' : 'master', (size) =>
        crypto.getRandomValues(new Uint8Array(size)),
      );
      names += 1;
      set(kind, namespace, `key-${names}`, {
        spec: { hash: hashKeyText(text), ...spec },
        ...(metadata === undefined ? {} : { metadata }),
      });
      return text;
    },
    post(path, body, init = {}) {
      return fetch(`${origin}/v1${path}`, {
        method: 'POST',
        ...init,
        headers: { authorization: `Bearer ${test.key}`, 'content-type': 'application/json', ...init.headers },
        body:
          typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      });
    },
    async close() {
      await gateway.destroy();
      await pools.destroy();
      await Promise.all(upstreams.map((upstream) => upstream.stop()));
    },
  };
  return Object.assign(test, { key: test.addKey() });
}

/** The content with the two writes that the keys API makes; the others are not the gateway's. */
function storeOf(content: Content): Store {
  const refused = () => Promise.reject(new Error('the gateway does not write this'));
  return Object.assign(content, {
    writeStatus: refused,
    readSecret: refused,
    createSecret: refused,
    applySecret: refused,
    ownSecret: refused,
    publishSealingRecipient: refused,
    async createKey(key: ApiKey) {
      content.set(key);
      return key;
    },
    async deleteKey({ metadata }: ApiKey) {
      content.remove('APIKey', metadata.namespace, metadata.name);
    },
    recordEvent() {},
  }) as unknown as Store;
}
