import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createAttemptMetrics } from '../../../src/observe/attempt-metrics.ts';
import { createRequestMetrics } from '../../../src/observe/metrics.ts';

const lines = async (registry: Registry, name: string) =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));
const done = { route: '/v1/chat/completions', status: 200, attempts: 1, durationMs: 5 };

describe('requests', () => {
  test('are counted over scrapes, by model and node', async () => {
    const registry = new Registry();
    const metrics = createRequestMetrics(registry);
    const expected = (count: number) => [
      `modelgateway_requests_total{route="/v1/chat/completions",model="m",node="ns/n",code="200"} ${count}`,
    ];
    metrics.record({ ...done, model: 'm', node: 'ns/n' });
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(1));
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(1));
    metrics.record({ ...done, model: 'm', node: 'ns/n' });
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(2));
  });

  test('beyond 2,000 sets of labels models count as other, beyond 4,000 nodes too', async () => {
    const registry = new Registry();
    const metrics = createRequestMetrics(registry);
    for (let i = 0; i < 10_000; i++) metrics.record({ ...done, model: `m${i}`, node: `ns/n${i}` });
    metrics.record({ ...done, model: 'm7', node: 'ns/n7' });
    const counted = await lines(registry, 'modelgateway_requests_total');
    expect(counted).toHaveLength(4_001);
    expect(counted).toContainEqual(expect.stringMatching(/model="m7",node="ns\/n7",code="200"} 2$/));
    expect(counted).toContainEqual(expect.stringMatching(/model="other",node="ns\/n2000",code="200"} 1$/));
    expect(counted).toContainEqual(expect.stringMatching(/model="other",node="other",code="200"} 6000$/));
  });

  test('a node that is gone takes its series along, not its attempts', async () => {
    const registry = new Registry();
    const metrics = createRequestMetrics(registry);
    for (const node of ['ns/gone', 'ns/stays']) metrics.record({ ...done, model: 'm', node });
    metrics.forget('ns/gone');
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual([
      expect.stringContaining('node="ns/stays"'),
    ]);
    expect(await lines(registry, 'modelgateway_attempts_total')).toEqual([expect.stringMatching(/ 2$/)]);
    metrics.record({ ...done, model: 'm', node: 'ns/gone' });
    expect(await lines(registry, 'modelgateway_requests_total')).toHaveLength(2);
  });
});

test('attempts are counted by node and outcome', async () => {
  const registry = new Registry();
  const metrics = createAttemptMetrics(registry);
  for (const outcome of ['ok', 'ok', 'timeout']) metrics.attempted('ns/n', outcome);
  metrics.attempted('ns/gone', 'ok');
  metrics.forget('ns/gone');
  expect(await lines(registry, 'modelgateway_upstream_attempts_total')).toEqual([
    'modelgateway_upstream_attempts_total{node="ns/n",outcome="ok"} 2',
    'modelgateway_upstream_attempts_total{node="ns/n",outcome="timeout"} 1',
  ]);
});
