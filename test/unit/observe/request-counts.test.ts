import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createAttemptMetrics } from '../../../src/observe/attempt-metrics.ts';
import { createRequestMetrics } from '../../../src/observe/request-metrics.ts';
import { createRequestRecord } from './request-record.ts';

const lines = async (registry: Registry, name: string) =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));

function start() {
  const registry = new Registry();
  const metrics = createRequestMetrics(registry);
  const record = (changes: Parameters<typeof createRequestRecord>[0]) => {
    const made = createRequestRecord(changes);
    metrics.record(metrics.route(made.route), made);
  };
  return { registry, metrics, record };
}

describe('requests', () => {
  test('are counted over scrapes, by model and node', async () => {
    const { registry, record } = start();
    const expected = (count: number) => [
      `modelgateway_requests_total{route="/v1/chat/completions",format="chat",model="m",node="ns/n",code="200"} ${count}`,
    ];
    record({ model: 'm', node: 'ns/n' });
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(1));
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(1));
    record({ model: 'm', node: 'ns/n' });
    expect(await lines(registry, 'modelgateway_requests_total')).toEqual(expected(2));
  });

  test('beyond 2,000 sets of labels models count as other, beyond 4,000 nodes too', async () => {
    const { registry, record } = start();
    for (let i = 0; i < 10_000; i++) record({ model: `m${i}`, node: `ns/n${i}` });
    record({ model: 'm7', node: 'ns/n7' });
    const counted = await lines(registry, 'modelgateway_requests_total');
    expect(counted).toHaveLength(4_001);
    expect(counted).toContainEqual(expect.stringMatching(/model="m7",node="ns\/n7",code="200"} 2$/));
    expect(counted).toContainEqual(expect.stringMatching(/model="other",node="ns\/n2000",code="200"} 1$/));
    expect(counted).toContainEqual(expect.stringMatching(/model="other",node="other",code="200"} 6000$/));
    expect(await lines(registry, 'modelgateway_node_request_duration_seconds_count')).toHaveLength(4_001);
  });

  test('a node that is gone takes its series along, not its attempts', async () => {
    const { registry, metrics, record } = start();
    const tokens = { input: 1, output: 2, cached: 0, reasoning: 0 };
    for (const node of ['ns/gone', 'ns/stays']) record({ model: 'm', node, tokens });
    metrics.forget('ns/gone');
    for (const name of ['requests_total', 'node_request_duration_seconds_sum']) {
      expect(await lines(registry, `modelgateway_${name}`)).toEqual([
        expect.stringContaining('node="ns/stays"'),
      ]);
    }
    expect(await lines(registry, 'modelgateway_tokens_total')).toHaveLength(4);
    expect(await lines(registry, 'modelgateway_attempts_total')).toEqual([expect.stringMatching(/ 2$/)]);
    record({ model: 'm', node: 'ns/gone' });
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
