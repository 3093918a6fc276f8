import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/controller/clock.ts';
import { runController } from '../../../src/controller/run.ts';
import { Pools } from '../../../src/upstream/pools.ts';
import { type ScriptedUpstream, startUpstream } from '../../support/upstream.ts';
import { type MemoryStore, memoryStore } from './memory-store.ts';
import { nodeOf, secretOf } from './resources.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function upstream(options = {}): Promise<ScriptedUpstream> {
  const server = await startUpstream(options);
  ends.push(() => server.stop());
  return server;
}

function start(memory: MemoryStore): { registry: Registry } {
  const stop = new AbortController();
  const pools = new Pools({ rules: { allowLoopback: true } });
  const registry = new Registry();
  const running = runController({
    store: memory.store,
    pools,
    log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
    registry,
    clock: systemClock,
    random: Math.random,
    randomBytes,
    gatewayURL: 'http://gateway.test/v1',
    homeNamespace: 'home',
    signal: stop.signal,
  });
  ends.push(async () => {
    stop.abort();
    await running;
    await pools.destroy();
  });
  return { registry };
}

async function until(test: () => boolean | undefined, what: string): Promise<void> {
  const end = Date.now() + 4_000;
  while (!test()) {
    if (Date.now() > end) throw new Error(`Not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('a new node is synced and ready, with its credential', async () => {
  const server = await upstream({ models: ['b', 'a'], apiKey: 'sk-planted' });
  const memory = memoryStore();
  memory.putSecret(secretOf('cred', { apiKey: 'sk-planted' }));
  memory.apply(nodeOf('n', { baseURL: server.url, apiKeySecretRef: { name: 'cred' } }));
  const { registry } = start(memory);
  const status = () => memory.store.get('UpstreamNode', 'home', 'n')?.status;
  await until(() => status()?.phase === 'ready', 'ready');
  expect(status()).toMatchObject({
    observedGeneration: 1,
    phase: 'ready',
    models: [
      { name: 'a', enabled: true, source: 'Discovered' },
      { name: 'b', enabled: true, source: 'Discovered' },
    ],
    modelCount: 2,
    enabledModelCount: 2,
    apiKeySet: true,
  });
  expect(
    status()?.conditions?.map(({ type, status: value, reason }) => `${type}=${value} ${reason}`),
  ).toEqual([
    'Ready=True Healthy',
    'ModelsSynced=True ModelsSynced',
    'CredentialsResolved=True CredentialsResolved',
  ]);
  expect(memory.writes.filter(({ what, name }) => what === 'status' && name === 'n')).toHaveLength(2);
  expect(memory.events.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
    'ModelAdded: Added 2 models: a, b.',
    'Healthy: The node went from idle to ready.',
  ]);
  expect(await registry.metrics()).toMatch(
    /controller_runtime_reconcile_total\{controller="upstreamnode",result="error"\} 0/,
  );
});
