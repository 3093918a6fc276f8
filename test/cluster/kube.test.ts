import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../src/kube/api-error.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { type Clock, systemClock } from '../../src/kube/clock.ts';
import { connectKube } from '../../src/kube/connect.ts';
import { createEventRecorder } from '../../src/kube/events.ts';
import { runLeaderElection } from '../../src/kube/lease.ts';
import { resourcePath } from '../../src/kube/paths.ts';
import { type ReflectOptions, reflect } from '../../src/kube/reflect.ts';
import { createObject, deleteObject, getObject, mergePatch, serverSideApply } from '../../src/kube/verbs.ts';
import { type Cluster, sharedCluster } from '../support/cluster.ts';
import { startControlPlane } from '../support/control-plane.ts';

let cluster: Cluster;
let client: KubeClient;
let namespace: string;
const stops: AbortController[] = [];
beforeAll(async () => {
  cluster = sharedCluster();
  client = connectKube({ kubeconfig: cluster.address.kubeconfig, userAgent: 'test/1' });
  namespace = await cluster.newNamespace('kube');
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});
afterAll(() => client.close());

const configMaps = (name?: string) =>
  resourcePath({ group: '', version: 'v1', plural: 'configmaps', namespace, name });
const configMap = (name: string, value = 'x') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { test: 'kube' } },
  data: { value },
});
interface Shown {
  kind?: string;
  metadata: { name: string; managedFields?: unknown };
  data?: { value?: string };
}

async function until(ready: () => boolean | Promise<boolean>, what: string, ms = 20_000) {
  const deadline = performance.now() + ms;
  while (!(await ready())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function follow(options: Partial<ReflectOptions> = {}) {
  const content = new Map<string, Shown>();
  const stop = new AbortController();
  stops.push(stop);
  const restarts: string[] = [];
  let lists = 0;
  const done = reflect({
    client,
    path: configMaps(),
    query: { labelSelector: 'test=kube' },
    signal: stop.signal,
    sink: {
      replace(objects) {
        lists += 1;
        content.clear();
        for (const object of objects as Shown[]) content.set(object.metadata.name, object);
      },
      set: (object) => content.set((object as Shown).metadata.name, object as Shown),
      remove: (object) => content.delete((object as Shown).metadata.name),
    },
    onRestart: (reason) => restarts.push(reason),
    ...options,
  });
  return { content, restarts, lists: () => lists, stop, done };
}

describe('reflect', () => {
  test('follows what is created, changed and deleted', async () => {
    await createObject(client, configMaps(), configMap('one'));
    const { content, restarts, stop, done } = follow();
    await until(() => content.has('one'), 'the first list');
    expect(content.get('one')?.kind).toBe('ConfigMap');
    expect(content.get('one')?.metadata.managedFields).toBeUndefined();
    await serverSideApply(client, configMaps('two'), configMap('two', 'a'), { fieldManager: 'test' });
    await until(() => content.get('two')?.data?.value === 'a', 'the second');
    await mergePatch(client, configMaps('two'), { data: { value: 'b' } });
    await until(() => content.get('two')?.data?.value === 'b', 'the change');
    await expect(deleteObject(client, configMaps('one'), { uid: 'other' })).rejects.toMatchObject({
      status: 409,
    });
    await deleteObject(client, configMaps('one'));
    await until(() => !content.has('one'), 'the deletion');
    expect(restarts).toEqual([]);
    stop.abort();
    await done;
  });

  test('asks for metadata alone', async () => {
    await createObject(client, configMaps(), configMap('meta'));
    const { content } = follow({ metadataOnly: true });
    await until(() => content.has('meta'), 'the first list');
    expect(content.get('meta')).toMatchObject({ kind: 'PartialObjectMetadata' });
    expect(content.get('meta')?.data).toBeUndefined();
    await createObject(client, configMaps(), configMap('later'));
    await until(() => content.has('later'), 'an event');
    expect(content.get('later')?.data).toBeUndefined();
  });

  test('says that a kind is missing', async () => {
    const missing = follow({ path: '/apis/example.dev/v1/nothings' });
    await until(() => missing.restarts.length > 0, 'the refusal');
    expect(missing.restarts).toEqual(['missing']);
  });
});

test.each([
  ['with lists', true],
  ['with streaming lists, because it cuts lists off', false],
])('a server that restarts and forgets, %s', async (_, answersLists) => {
  await using plane = await startControlPlane({ watchCache: false });
  const client = connectKube({ kubeconfig: plane.kubeconfig, userAgent: 'test/1' });
  const own: KubeClient = {
    ...client,
    stream: (asked) =>
      answersLists || asked.query?.['watch'] === true
        ? client.stream(asked)
        : Promise.reject(new ApiError(504, 'Timeout', 'the list took more than a minute')),
  };
  const path = resourcePath({ group: '', version: 'v1', plural: 'configmaps', namespace: 'default' });
  await until(
    async () => (await getObject(own, path).catch(() => undefined)) !== undefined,
    'the server is up',
  );
  for (let n = 0; n < 600; n += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_value, m) => createObject(own, path, configMap(`many-${n + m}`))),
    );
  }
  // Keeps the watch from coming back before its version is forgotten.
  let hold = false;
  const held: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(ms, run) {
      if (!hold || ms > 40_000) return systemClock.after(ms, run);
      held.push(run);
      return () => held.splice(held.indexOf(run) >>> 0, 1);
    },
  };
  const followed = follow({ client: own, path, clock });
  await until(() => followed.content.size === 600, 'the first list');
  await plane.stopApiServer();
  await until(() => followed.restarts.length > 0, 'the fault was noticed');
  expect(followed.content.size).toBe(600);
  await plane.startApiServer();
  await createObject(own, path, configMap('after'));
  await until(() => followed.content.has('after'), 'the watch goes on', 60_000);
  expect(followed.lists()).toBe(1);

  hold = true;
  await plane.stopApiServer();
  await plane.startApiServer();
  await deleteObject(own, `${path}/many-7`);
  await createObject(own, path, configMap('last'));
  await plane.compactEtcd();
  for (const run of held.splice(0)) run();
  hold = false;
  await until(() => followed.content.has('last'), 'the new list', 60_000);
  expect(followed.content.has('many-7')).toBe(false);
  expect(followed.restarts).toContain('expired');
  expect(followed.lists()).toBe(2);
  followed.stop.abort();
  await followed.done;
  own.close();
});

test('of two candidates for a Lease one leads; the other takes over at once when it is released', async () => {
  const run = (identity: string) => {
    const stop = new AbortController();
    stops.push(stop);
    let leads = false;
    const errors: unknown[] = [];
    const done = runLeaderElection({
      client,
      namespace,
      name: 'leader',
      identity,
      signal: stop.signal,
      onStartedLeading: async ({ signal, isValid }) => {
        leads = isValid();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      onError: (error) => errors.push(error),
    });
    return { stop, done, errors, leads: () => leads };
  };
  const a = run('a');
  await until(a.leads, 'a leads');
  const b = run('b');
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(b.leads()).toBe(false);
  a.stop.abort();
  expect(await a.done).toBe('stopped');
  await until(b.leads, 'b leads', 4_000);
  b.stop.abort();
  expect(await b.done).toBe('stopped');
  const path = resourcePath({ group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespace });
  const spec = { leaseTransitions: 1, leaseDurationSeconds: 1 };
  expect(await getObject(client, `${path}/leader`)).toMatchObject({ spec });
  expect([...a.errors, ...b.errors]).toEqual([]);
});

test('Events are taken, and repeats counted', async () => {
  const errors: unknown[] = [];
  const reporter = { reportingController: 'example.dev/controller', reportingInstance: 'pod-1' };
  const events = createEventRecorder({ client, ...reporter, onError: (error) => errors.push(error) });
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'two' };
  const event = {
    regarding,
    action: 'Sync',
    reason: 'Synced',
    note: 'é'.repeat(600),
    type: 'Normal',
  } as const;
  for (let n = 0; n < 3; n += 1) {
    events.record(event);
    await events.drain();
  }
  events.record({ ...event, note: 'for all', regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1' } });
  await events.drain();
  expect(errors).toEqual([]);
  const path = resourcePath({ group: 'events.k8s.io', version: 'v1', plural: 'events', namespace });
  expect(await getObject(client, path)).toMatchObject({
    items: [{ reason: 'Synced', regarding, series: { count: 3 }, ...reporter }],
  });
});
