import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError } from '../../src/kube/api-error.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { connectKube } from '../../src/kube/connect.ts';
import { createEventRecorder } from '../../src/kube/events.ts';
import { createLog } from '../../src/observe/log.ts';
import { createRegistry } from '../../src/observe/metrics.ts';
import { createStoreMetrics } from '../../src/observe/store-metrics.ts';
import type { ApiKey } from '../../src/resources/api-key.ts';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import type { Secret } from '../../src/resources/secret.ts';
import { openKubernetesStore } from '../../src/store/cluster/kubernetes.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { kubernetesMinor } from '../support/control-plane/binaries.ts';
import { eventually } from '../support/eventually.ts';
import { type Resources, resourcesOf } from '../support/resources.ts';

// The writes of the store, and when they are visible.
let cluster: Cluster;
let resources: Resources;
let namespace: string;
let client: KubeClient;
let store: Store;
const changes: Change[] = [];
const stop = new AbortController();
const { signal } = stop;

beforeAll(async () => {
  cluster = sharedCluster();
  await cluster.applyCrds();
  resources = resourcesOf(cluster);
  namespace = await cluster.newNamespace('store');
  client = connectKube({ kubeconfig: cluster.address.kubeconfig, userAgent: 'test/1' });
  store = openStore(client);
  store.subscribe((change) => changes.push(change));
  await store.whenSynced(signal);
});
afterAll(() => {
  stop.abort();
  client.close();
});

function openStore(through: KubeClient): Store {
  return openKubernetesStore({
    client: through,
    namespaces: [namespace],
    homeNamespace: namespace,
    events: createEventRecorder({
      client,
      reportingController: 'test/store',
      reportingInstance: 'test',
      signal,
    }),
    log: createLog({ level: 'error', format: 'json', role: 'test', destination: process.stdout }),
    metrics: createStoreMetrics(createRegistry('test', 'test')),
    internalErrors: (place, error) => {
      throw new Error(place, { cause: error });
    },
    now: Date.now,
    signal,
  });
}

/** The same client, but events of watches arrive later. */
function lagging(lagMs: number): KubeClient {
  return {
    ...client,
    async stream(request) {
      const chunks = await client.stream(request);
      return (async function* () {
        for await (const chunk of chunks) {
          await new Promise((resolve) => setTimeout(resolve, lagMs));
          yield chunk;
        }
      })();
    },
  };
}

/** The same client, whose watch of APIKeys can be made to start again with a complete list that arrives late. */
function relisting() {
  const breaks = Promise.withResolvers<never>();
  breaks.promise.catch(() => {});
  const [listed, goOn, catchUp] = [1, 2, 3].map(() => Promise.withResolvers<void>());
  let isHeld = false;
  async function* untilBroken(chunks: AsyncIterable<Uint8Array>) {
    const iterator = chunks[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([iterator.next(), breaks.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  }
  async function* late(chunks: AsyncIterable<Uint8Array>) {
    const list: Uint8Array[] = [];
    for await (const chunk of chunks) list.push(chunk);
    listed?.resolve();
    await goOn?.promise;
    yield* list;
  }
  async function* afterwards(chunks: AsyncIterable<Uint8Array>) {
    await catchUp?.promise;
    yield* chunks;
  }
  const through: KubeClient = {
    ...client,
    async stream(request) {
      const chunks = await client.stream(request);
      if (!request.path.endsWith('/apikeys')) return chunks;
      if (!isHeld) return untilBroken(chunks);
      return request.query?.['watch'] === true ? afterwards(chunks) : late(chunks);
    },
  };
  return {
    client: through,
    /** Settles when the list was taken; what changes now is not in it. */
    async begin() {
      isHeld = true;
      breaks.reject(new ApiError(410, 'Expired', 'the test says so'));
      await listed?.promise;
    },
    /** Delivers the list, but no later event. */
    handOut: () => goOn?.resolve(),
    /** Delivers the events after the list. */
    catchUp: () => catchUp?.resolve(),
  };
}

const metadata = (name: string) => ({
  name,
  namespace,
  creationTimestamp: undefined,
  deletionTimestamp: undefined,
});
const keyOf = (name: string, text: string): ApiKey => ({
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'APIKey',
  metadata: metadata(name),
  spec: { enabled: true, priority: 'Normal', conversion: 'Lossy', hash: hashKeyText(text) },
});
const secretOf = (name: string, entries: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadata(name),
  type: 'Opaque',
  data: Object.fromEntries(
    Object.entries(entries).map(([entry, value]) => [entry, Buffer.from(value).toString('base64')]),
  ),
});
type Made = { key: ApiKey; hash: string };
const refused = (reason: string) => expect.objectContaining({ name: 'StoreError', reason });

test('a key is there before its creation settles, gone before its deletion does, and late events change neither', async () => {
  const lagMs = 60;
  const late = openStore(lagging(lagMs));
  await late.whenSynced(signal);
  for (let round = 0; round < 5; round += 1) {
    const text = generateKeyText('api', randomBytes);
    const hash = hashKeyText(text);
    const created = await late.createKey(keyOf(`quick-${round}`, text), signal);
    expect(created.metadata.uid).toBeDefined();
    expect(late.key(hash)?.resource.metadata.name).toBe(`quick-${round}`);
    await late.deleteKey(created, signal);
    expect(late.key(hash)).toBeUndefined();
    // The watch reports its creation only now.
    const seen = new Set<unknown>();
    const until = performance.now() + 4 * lagMs;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      seen.add(late.key(hash));
    }
    expect([...seen], `round ${round}`).toEqual([undefined]);
  }
});

// The test delays a streamed list, which older servers do not offer by default.
test.skipIf(kubernetesMinor() < 34)(
  'a list that was begun before a key was made or deleted changes neither',
  async () => {
    const relist = relisting();
    const slow = openStore(relist.client);
    await slow.whenSynced(signal);
    const [old, made, gone, marker] = ['old', 'made', 'gone', 'marker'].map((name) => {
      const text = generateKeyText('api', randomBytes);
      return { key: keyOf(`relist-${name}`, text), hash: hashKeyText(text) };
    }) as [Made, Made, Made, Made];
    const deleted = await slow.createKey(old.key, signal);
    await relist.begin();
    await slow.createKey(made.key, signal);
    await slow.createKey(gone.key, signal);
    await slow.deleteKey(deleted, signal);
    const there = () => [old, made, gone].map(({ hash }) => slow.key(hash) !== undefined);
    expect(there()).toEqual([false, true, true]);
    // A key that somebody else deletes at the same time is removed by the event after the list.
    await resources.remove('APIKey', namespace, 'relist-gone');
    relist.handOut();
    const until = performance.now() + 300;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(there()).toEqual([false, true, true]);
    }
    await store.createKey(marker.key, signal);
    relist.catchUp();
    await eventually('the watch caught up', () => slow.key(marker.hash) !== undefined);
    expect(there()).toEqual([false, true, false]);
  },
);

test('what people set on a node bites without a controller', async () => {
  await resources.create('UpstreamNode', namespace, 'wished', {
    baseURL: 'http://127.0.0.1:9/v1',
    manualModels: ['by-hand'],
    sync: { discovery: 'Always' },
  });
  await eventually('it came', () => store.served('by-hand') !== undefined);
  const models = [{ name: 'found', enabled: true, source: 'Discovered' }] as const;
  const node = () => store.get('UpstreamNode', namespace, 'wished') ?? expect.unreachable();
  await store.writeStatus('UpstreamNode', node(), { observedGeneration: 1, models: [...models] }, signal);
  const enabled = (name: string) => store.served(name)?.candidates.map((candidate) => candidate.enabled);
  expect([enabled('found'), enabled('by-hand')]).toEqual([[true], [true]]);
  const wish = (spec: Record<string, unknown>) =>
    resources.patch('UpstreamNode', namespace, 'wished', { spec });
  await wish({
    models: [
      { name: 'found', enabled: false, aliases: ['other-name'] },
      { name: 'by-hand', enabled: false },
    ],
  });
  await eventually('both are off', () => `${enabled('found')} ${enabled('by-hand')}` === 'false false');
  expect(enabled('other-name')).toEqual([false]);
  await wish({ manualModels: null });
  await eventually('one is gone', () => store.served('by-hand') === undefined);
  await wish({ sync: { discovery: 'Never' } });
  await eventually('so is the other', () => store.served('found') === undefined);
});

test('writes that cannot be done say why', async () => {
  const text = generateKeyText('api', randomBytes);
  const created = await store.createKey(keyOf('twice', text), signal);
  await expect(store.createKey(keyOf('twice', text), signal)).rejects.toEqual(refused('AlreadyExists'));
  const bad = keyOf('bad', text);
  await expect(store.createKey({ ...bad, spec: { ...bad.spec, hash: 'nonsense' } }, signal)).rejects.toEqual(
    refused('Invalid'),
  );
  // A key that was created again under the same name is another key.
  await resources.remove('APIKey', namespace, 'twice');
  await resources.addKey(namespace, 'twice');
  await expect(store.deleteKey(created, signal)).rejects.toEqual(refused('Conflict'));
  await resources.remove('APIKey', namespace, 'twice');
  await expect(store.deleteKey(created, signal)).rejects.toEqual(refused('NotFound'));
  const elsewhere = { ...keyOf('x', text), metadata: { ...metadata('x'), namespace: 'no-such-namespace' } };
  await expect(store.createKey(elsewhere, signal)).rejects.toEqual(refused('NotFound'));
});

test('a status is written to that very object or not at all, and is visible at once', async () => {
  const spec = { baseURL: 'http://127.0.0.1:9/v1' };
  await resources.create('UpstreamNode', namespace, 'node', spec);
  await eventually('it came', () => store.get('UpstreamNode', namespace, 'node') !== undefined);
  const node = store.get('UpstreamNode', namespace, 'node') ?? expect.unreachable();
  const status = {
    observedGeneration: 1,
    phase: 'ready',
    models: [{ name: 'm', enabled: true, source: 'Discovered' }],
  } as const;
  await store.writeStatus('UpstreamNode', node, { ...status, models: [...status.models] }, signal);
  expect(store.get('UpstreamNode', namespace, 'node')?.status?.phase).toBe('ready');
  expect(store.served('m')?.candidates).toHaveLength(1);
  const stored = await resources.get('UpstreamNode', namespace, 'node');
  expect(stored.status).toMatchObject(status);
  expect(stored.metadata.generation).toBe(1);

  await resources.remove('UpstreamNode', namespace, 'node');
  await expect(store.writeStatus('UpstreamNode', node, { phase: 'error' }, signal)).rejects.toEqual(
    refused('NotFound'),
  );
  // The deleted object must not be created again, and its successor must not get its status.
  await resources.create('UpstreamNode', namespace, 'node', spec);
  await expect(store.writeStatus('UpstreamNode', node, { phase: 'error' }, signal)).rejects.toEqual(
    refused('Conflict'),
  );
  expect((await resources.get('UpstreamNode', namespace, 'node')).status?.phase).toBeUndefined();
});

test('a Secret is created but never overwritten, and changed only as it was read', async () => {
  expect(await store.readSecret(namespace, 'secret', signal)).toBeUndefined();
  const created = await store.createSecret(secretOf('secret', { apiKey: 'one' }), signal);
  await expect(store.createSecret(secretOf('secret', { apiKey: 'two' }), signal)).rejects.toEqual(
    refused('AlreadyExists'),
  );
  const read = await store.readSecret(namespace, 'secret', signal);
  expect(read).toEqual(created);
  const { data } = secretOf('', { apiKey: 'three' });
  await store.applySecret({ ...created, data }, signal);
  await expect(store.applySecret({ ...created, data }, signal)).rejects.toEqual(refused('Conflict'));
  expect((await resources.secret(namespace, 'secret'))?.text).toEqual({ apiKey: 'three' });
  await eventually('listeners hear of it', () =>
    changes.some((change) => change.kind === 'Secret' && change.name === 'secret'),
  );
});

test('a Secret that the Role leaves out is told as such; one that it names can be read', async () => {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const ours = { apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
  const secrets = (names: string[]) => ({
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    resourceNames: names,
  });
  const metadata = { name: 'by-name' };
  await cluster.client.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata } });
  await cluster.client.ask('POST', `${rbac}/roles`, {
    body: { metadata, rules: [ours, secrets(['named'])] },
  });
  await cluster.client.ask('POST', `${rbac}/rolebindings`, {
    body: {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'by-name' },
      subjects: [{ kind: 'ServiceAccount', namespace, name: 'by-name' }],
    },
  });
  for (const name of ['named', 'left-out']) {
    await resources.addSecret(namespace, name, { apiKey: `sk-${name}` });
    await resources.create('UpstreamNode', namespace, name, {
      baseURL: 'http://127.0.0.1:9/v1',
      apiKeySecretRef: { name },
    });
  }
  const kubeconfig = await cluster.kubeconfigFor({ namespace, name: 'by-name' });
  const limited = connectKube({ kubeconfig, userAgent: 'test/1' });
  const few = openStore(limited);
  await few.whenSynced(signal);
  const state = (name: string) => {
    const credentials = few.node(namespace, name)?.credentials;
    return credentials?.state === 'Refused' ? credentials.reason : credentials?.state;
  };
  await eventually('both are judged', () => state('named') === 'Resolved' && state('left-out') !== 'Pending');
  expect(state('left-out')).toBe('SecretForbidden');
  const rules = [ours, secrets(['named', 'left-out'])];
  await cluster.client.ask('PATCH', `${rbac}/roles/by-name`, { body: { rules } });
  await eventually('the grant is noticed', () => state('left-out') === 'Resolved', 10_000);
  limited.close();
});

test('credentials follow their Secret: there, changed, gone and back', async () => {
  await resources.create('UpstreamNode', namespace, 'with-secret', {
    baseURL: 'http://127.0.0.1:9/v1',
    apiKeySecretRef: { name: 'credential' },
    headers: [{ name: 'x-team', secretRef: { name: 'header', key: 'value' } }],
  });
  const state = () => store.node(namespace, 'with-secret')?.credentials;
  await eventually('both are missing', () => state()?.state === 'Refused');
  await resources.addSecret(namespace, 'credential', { apiKey: 'sk-one' });
  await resources.addSecret(namespace, 'header', { value: 'team-a' });
  await eventually('resolved', () => state()?.state === 'Resolved');
  expect(state()).toMatchObject({
    apiKeySet: true,
    connection: { credential: 'sk-one', headers: [{ name: 'x-team', value: 'team-a' }] },
  });
  const path = `/api/v1/namespaces/${namespace}/secrets/credential`;
  const credential = () => {
    const now = state();
    return now?.state === 'Resolved' ? now.connection.credential : undefined;
  };
  // Many changes in a row: the last one counts, whatever order the reads of it end in.
  for (let n = 1; n <= 20; n += 1) {
    await cluster.client.ask('PATCH', path, { body: { stringData: { apiKey: `sk-${n}` } } });
  }
  await eventually('the last one', () => credential() === 'sk-20');
  await cluster.client.ask('DELETE', path);
  await eventually('gone', () => state()?.state === 'Refused');
  await resources.addSecret(namespace, 'credential', { apiKey: 'sk-back' });
  await eventually('back', () => credential() === 'sk-back');
  // A change of labels alone leaves the connection as it is, or its pool would be rebuilt.
  const before = state();
  await cluster.client.ask('PATCH', path, { body: { metadata: { labels: { a: 'b' } } } });
  await eventually('its version is taken', () => {
    const now = state();
    return now?.state === 'Resolved' && before?.state === 'Resolved' && now !== before;
  });
  const after = state();
  expect(
    after?.state === 'Resolved' && before?.state === 'Resolved' && after.connection === before.connection,
  ).toBe(true);
});
