import { pino } from 'pino';
import { expect, test } from 'vitest';
import { sealingReconcile } from '../../../src/controller/sealing.ts';
import { type MemoryStore, memoryStore } from './memory-store.ts';

const key = 'home/model-gateway-sealing';
const { signal } = new AbortController();
const silent = pino({ level: 'silent' });

const reconcile = (memory: MemoryStore) => sealingReconcile(memory.store)(key, { signal, log: silent });
const published = (memory: MemoryStore) =>
  memory.writes.filter(({ what }) => what === 'publish').map(({ name }) => name);

test('the recipient is published again every ten minutes: nobody tells when its ConfigMap is deleted', async () => {
  const memory = memoryStore();
  expect(await reconcile(memory)).toEqual({ requeueAfterMs: 600_000 });
  await reconcile(memory);
  const [first, second] = published(memory);
  expect(first).toMatch(/^age1/);
  expect(second).toBe(first);
});
