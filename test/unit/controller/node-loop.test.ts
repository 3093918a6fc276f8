import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/controller/clock.ts';
import { createControllerMetrics } from '../../../src/controller/metrics.ts';
import { Queue } from '../../../src/controller/queue.ts';
import { nodeReconcile } from '../../../src/controller/upstream-node/reconcile.ts';
import { conditionsText, endings, settle, start, until, upstream } from './harness.ts';
import { memoryStore } from './memory-store.ts';
import { nodeOf, secretOf } from './resources.ts';

const ends = endings();
afterEach(ends.endAll);

const statusWrites = (memory: ReturnType<typeof memoryStore>, of: string) =>
  memory.writes.filter(({ what, name }) => what === 'status' && name === of).length;

test('a new node is synced and ready, with its credential, in two writes', async () => {
  const server = await upstream(ends, { models: ['b', 'a'], apiKey: 'sk-planted' });
  const memory = memoryStore();
  memory.putSecret(secretOf('cred', { apiKey: 'sk-planted' }));
  memory.apply(nodeOf('n', { baseURL: server.url, apiKeySecretRef: { name: 'cred' } }));
  const { registry } = start(ends, memory);
  const status = () => memory.store.get('UpstreamNode', 'home', 'n')?.status;
  await until(() => status()?.phase === 'ready', 'ready');
  expect(status()).toMatchObject({
    observedGeneration: 1,
    models: [
      { name: 'a', enabled: true, source: 'Discovered' },
      { name: 'b', enabled: true, source: 'Discovered' },
    ],
    modelCount: 2,
    enabledModelCount: 2,
    apiKeySet: true,
  });
  expect(conditionsText(status()?.conditions)).toEqual([
    'Ready=True Configured',
    'Reachable=True Healthy',
    'ModelsSynced=True ModelsSynced',
    'CredentialsResolved=True CredentialsResolved',
  ]);
  expect(statusWrites(memory, 'n')).toBe(2);
  expect(memory.events.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
    'ModelAdded: Added 2 models: a, b.',
    'Healthy: The node went from idle to ready.',
  ]);
  expect(JSON.stringify([status(), memory.events])).not.toContain('sk-planted');
  expect(await registry.metrics()).toContain(
    'controller_runtime_reconcile_total{controller="upstreamnode",result="error"} 0',
  );
});

/** The reconcile of nodes without workers: the test calls it. Every node answers with one model. */
function bareLoop(memory: ReturnType<typeof memoryStore>, clock: Clock) {
  const metrics = createControllerMetrics(new Registry(), clock.now);
  const queue = new Queue(systemClock, metrics.controller('n', () => []).queue);
  ends.add(async () => queue.close());
  const log = pino({ level: 'silent' });
  const { signal } = new AbortController();
  const reconcile = nodeReconcile({
    ...{ store: memory.store, metrics, clock, log, queue, limits: { inAll: 1, perHost: 1 }, signal },
    ask: async () => ({ kind: 'models', names: ['m'], truncated: false }),
    release: () => {},
  });
  return { queue, reconcile: (id: string) => reconcile(id, { signal, log, debug: () => {} }) };
}

test('what falls due within one second is looked at together, at its end', async () => {
  const memory = memoryStore();
  const nowMs = Date.UTC(2026, 10, 21) + 123;
  const { queue, reconcile } = bareLoop(memory, { ...systemClock, now: () => nowMs });
  const wakes: number[] = [];
  for (let number = 0; number < 40; number += 1) {
    const id = `home/n${number}`;
    memory.apply(nodeOf(`n${number}`));
    await reconcile(id);
    expect(await queue.take()).toBe(id);
    const { requeueAfterMs = 0 } = await reconcile(id);
    wakes.push(nowMs + requeueAfterMs);
  }
  expect(wakes.filter((wake) => wake % 1_000 !== 0)).toEqual([]);
  // Still spread over the minute, by the names of the nodes.
  expect(new Set(wakes).size).toBeGreaterThan(15);
  expect([Math.min(...wakes) > nowMs + 6_000, Math.max(...wakes) <= nowMs + 61_000]).toEqual([true, true]);
});

test('a restart contacts nobody and writes nothing; annotation, address and credential cause a sync each', async () => {
  const [server, other] = [await upstream(ends), await upstream(ends, { models: ['x'] })];
  const memory = memoryStore();
  memory.putSecret(secretOf('cred', { apiKey: 'sk-1' }));
  const spec = { baseURL: server.url, apiKeySecretRef: { name: 'cred' } };
  memory.apply(nodeOf('n', spec));
  const status = () => memory.store.get('UpstreamNode', 'home', 'n')?.status;
  const first = start(ends, memory);
  await until(() => status()?.phase === 'ready', 'ready');
  await first.stop();
  const writes = statusWrites(memory, 'n');

  start(ends, memory);
  await settle();
  expect(server.requestsTo('/models')).toHaveLength(1);
  expect(statusWrites(memory, 'n')).toBe(writes);

  const annotations = { 'modelgateway.dev/sync-requested-at': 'now please' };
  memory.apply(nodeOf('n', spec, { annotations }));
  await until(() => status()?.lastHandledSyncRequest === 'now please', 'the requested sync');
  expect(server.requestsTo('/models')).toHaveLength(2);

  memory.putSecret(secretOf('cred', { apiKey: 'sk-2' }));
  await until(() => server.requestsTo('/models').length === 3, 'a sync with the new credential');
  expect(server.requestsTo('/models')[2]?.headers['authorization']).toBe('Bearer sk-2');
  await until(() => status()?.phase === 'ready', 'ready again');

  const written = statusWrites(memory, 'n');
  memory.putSecret(secretOf('cred', { apiKey: 'sk-2', other: 'x' }, { labels: { a: 'b' } }));
  await settle();
  expect([server.requestsTo('/models').length, statusWrites(memory, 'n')]).toEqual([3, written]);

  memory.apply(nodeOf('n', { ...spec, baseURL: other.url }, { annotations }));
  await until(() => status()?.syncedWith?.baseURL === other.url, 'a sync with the new address');
  expect(status()?.models?.map(({ name, missedSyncs }) => [name, missedSyncs])).toEqual([
    ['test-model', 1],
    ['x', undefined],
  ]);
  await settle();
  expect([server, other].map((each) => each.requestsTo('/models').length)).toEqual([3, 1]);
});

test('a Secret that comes late turns a stalled node into a ready one', async () => {
  const server = await upstream(ends);
  const memory = memoryStore();
  memory.apply(nodeOf('n', { baseURL: server.url, apiKeySecretRef: { name: 'cred' } }));
  start(ends, memory);
  const status = () => memory.store.get('UpstreamNode', 'home', 'n')?.status;
  await until(() => status()?.phase === 'error', 'error');
  expect(conditionsText(status()?.conditions)).toEqual([
    'Ready=False SecretNotFound',
    'Reachable=Unknown NotChecked',
    'ModelsSynced=Unknown Pending',
    'CredentialsResolved=False SecretNotFound',
    'Stalled=True SecretNotFound',
  ]);
  expect(server.requests).toHaveLength(0);
  memory.putSecret(secretOf('cred', { apiKey: 'sk-1' }));
  await until(() => status()?.phase === 'ready', 'ready');
});

test('once the lease may be lost nothing is written', async () => {
  const server = await upstream(ends);
  const memory = memoryStore();
  memory.apply(nodeOf('n', { baseURL: server.url }));
  start(ends, memory, { isLeaderValid: () => false });
  await settle();
  expect(memory.writes).toEqual([]);
});
