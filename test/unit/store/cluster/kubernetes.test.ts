import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLog } from '../../../../src/observe/log.ts';
import { createRegistry } from '../../../../src/observe/metrics.ts';
import { createStoreMetrics } from '../../../../src/observe/store-metrics.ts';
import { openKubernetesStore } from '../../../../src/store/cluster/kubernetes.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  type Answer,
  failure,
  json,
  openWatch,
  type ScriptedServer,
  scriptedServer,
} from '../../kube/scripted-server.ts';
import { hashOf } from '../make.ts';

// What becomes of one namespace that the API server refuses, beside one that works. The whole of it on a real API server is in
// test/cluster/lost-namespace.test.ts.
let server: ScriptedServer;
let stop: AbortController;
/** Namespaces that are refused. */
let refused: Set<string>;
/** The watches that are open, by path. */
let watches: Map<string, ReturnType<typeof openWatch>>;

beforeEach(async () => {
  server = await scriptedServer();
  stop = new AbortController();
  refused = new Set();
  watches = new Map();
  server.otherwise(answer);
});
afterEach(async () => {
  stop.abort();
  await server.close();
});

const answer: Answer = (call, response) => {
  const [, namespace = ''] = /\/namespaces\/([^/]+)\//.exec(call.path) ?? [];
  if (refused.has(namespace)) return failure(403, 'Forbidden')(call, response);
  if (call.query.has('sendInitialEvents')) return failure(422, 'Invalid')(call, response);
  if (call.query.has('watch')) {
    const watch = openWatch();
    watches.set(call.path, watch);
    return watch.answer(call, response);
  }
  const key = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'APIKey',
    metadata: { name: 'key', namespace, uid: namespace, resourceVersion: '1' },
    spec: { hash: keyOf(namespace) },
  };
  const items = call.path.endsWith('/apikeys') ? [key] : [];
  return json({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items })(call, response);
};

const keyOf = (namespace: string) => hashOf(namespace === 'home' ? 1 : 2);

function open() {
  const registry = createRegistry('test', 'test');
  const store = openKubernetesStore({
    client: server.client(),
    namespaces: ['home', 'team'],
    secretNamespaces: [],
    homeNamespace: 'home',
    events: { record: () => {}, drain: async () => {} },
    log: createLog({ level: 'error', format: 'json', role: 'test', destination: { write: () => {} } }),
    metrics: createStoreMetrics(registry),
    internalErrors: (place, error) => {
      throw new Error(place, { cause: error });
    },
    now: Date.now,
    patience: { refusedMs: 50, failingMs: 400, dropMs: 300 },
    signal: stop.signal,
  });
  const opens = () => ['home', 'team'].filter((namespace) => store.key(keyOf(namespace)) !== undefined);
  return { store, opens, metrics: () => registry.metrics() };
}

const cut = (namespace: string) => {
  for (const [path, watch] of watches) if (path.includes(`/${namespace}/`)) void watch.cut();
};

test('a namespace that is refused at the start is empty, and filled when it is granted', async () => {
  refused.add('team');
  const { store, opens, metrics } = open();
  await store.whenSynced(AbortSignal.timeout(5_000));
  expect(opens()).toEqual(['home']);
  expect(store.remarks?.()).toEqual([expect.stringContaining('namespace team is lost: ')]);
  expect(await metrics()).toContain('modelgateway_store_namespace_followed{resource_namespace="team"} 0');
  expect(await metrics()).toContain('modelgateway_store_synced{kind="APIKey"} 0');
  refused.clear();
  await eventually('it is filled', () => opens().length === 2);
  // Each kind comes back by its own next attempt.
  await eventually('no list is lost', () => store.remarks?.().length === 0);
  expect(await metrics()).toContain('modelgateway_store_synced{kind="APIKey"} 1');
});

test('where all namespaces are refused the store is not complete', async () => {
  for (const namespace of ['home', 'team']) refused.add(namespace);
  const { store } = open();
  await expect(store.whenSynced(AbortSignal.timeout(1_500))).rejects.toThrow();
  expect(store.unsyncedReason?.()).toContain('the API server answered 403');
});

test('what is held of a namespace is dropped if it stays refused, and read again when it is granted', async () => {
  const { store, opens } = open();
  await store.whenSynced(AbortSignal.timeout(5_000));
  await eventually('all are watched', () => watches.size >= 6);
  expect(opens()).toEqual(['home', 'team']);
  refused.add('team');
  cut('team');
  await eventually('it is dropped', () => opens().length === 1);
  expect(opens()).toEqual(['home']);
  refused.clear();
  await eventually('it is back', () => opens().length === 2);
});

test('nothing is dropped while other namespaces would be refused, too, although their watches are open', async () => {
  const { store, opens } = open();
  await store.whenSynced(AbortSignal.timeout(5_000));
  await eventually('all are watched', () => watches.size >= 6);
  for (const namespace of ['home', 'team']) refused.add(namespace);
  cut('team');
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(opens()).toEqual(['home', 'team']);
});
