import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRegistry } from '../../../src/observe/metrics.ts';

async function lag(registry: Registry): Promise<Record<string, number>> {
  const found = (await registry.metrics()).matchAll(/^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/gm);
  return Object.fromEntries([...found].map(([, statistic = '', value]) => [statistic, Number(value)]));
}

test('a held event loop is told by as much as it was held, once', async () => {
  const registry = createRegistry('test', 'test');
  expect(Object.keys(await lag(registry))).toEqual(['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']);
  await delay(250);
  // Held from a look on, so that the next is late by all of it but the time until it was due.
  const until = performance.now() + 700;
  while (performance.now() < until);
  await delay(250);
  const { max, min, mean, p99 } = await lag(registry);
  expect(max).toBeGreaterThan(0.59);
  expect(p99).toBeCloseTo(max ?? 0, 2);
  expect(min).toBeLessThan(mean ?? 0);
  await delay(250);
  const after = await lag(registry);
  expect(after.max).toBeLessThan(max ?? 0);
});

test('before the first look there is no lag', async () => {
  expect(await lag(createRegistry('test', 'test'))).toMatchObject({ min: 0, mean: 0, p99: 0 });
});
