import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { UpstreamFault } from '../../../../src/convert/upstream-fault.ts';
import { faultFailure } from '../../../../src/gateway/attempt/failure.ts';
import { createConversionReports } from '../../../../src/gateway/conversion/conversion-reports.ts';
import { createConversionMetrics } from '../../../../src/observe/conversion-metrics.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { upstreamNodeSchema } from '../../../../src/resources/upstream-node.ts';
import type { Candidate } from '../../../../src/store/store.ts';

function setUp(spec: object = {}) {
  const clock = { ms: 0 };
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    role: 'test',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const registry = new Registry();
  const counters = createConversionMetrics(registry);
  const reports = createConversionReports({ log, clock: () => clock.ms, counters });
  const resource = upstreamNodeSchema.parse({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { namespace: 'home', name: 'n' },
    spec: { baseURL: 'http://n.example/v1', ...spec },
  });
  const node = { id: 'home/n', resource, nativeFormats: new Set(), credentials: {}, checkedAtMs: 0 };
  const candidate = { node, model: 'm', enabled: true } as unknown as Candidate;
  const fail = async (message: string, status = 400) => {
    const fault = new UpstreamFault('reported', message, { status });
    await reports.failed(candidate, faultFailure(fault, undefined));
  };
  return { clock, lines, registry, reports, fail };
}

test('advice on a node’s dialect comes once an hour for each setting', async () => {
  const { clock, lines, fail } = setUp();
  const settings = () => lines.map(({ setting }) => setting);
  for (let i = 0; i < 3; i++) await fail('parallel_tool_calls is not permitted');
  await fail('Unknown parameter: reasoning_effort', 422);
  await fail('parallel_tool_calls is not permitted', 500);
  await fail('something else');
  const both = ['spec.dialect.parallelToolCalls: false', 'spec.dialect.reasoningEfforts: []'];
  expect(settings()).toEqual(both);
  expect(lines[0]).toMatchObject({ level: 'warn', node: 'home/n', model: 'm' });
  clock.ms = 3_599_999;
  await fail('parallel_tool_calls is not permitted');
  expect(settings()).toEqual(both);
  clock.ms = 3_600_001;
  await fail('parallel_tool_calls is not permitted');
  expect(settings()).toEqual([...both, both[0]]);
});

test.each([
  [{ parallelToolCalls: false }, 'parallel_tool_calls is not permitted'],
  [{ reasoningEfforts: [] }, 'Unknown parameter: reasoning_effort'],
])('a setting that is in force is not advised: %o', async (dialect, message) => {
  const { lines, fail } = setUp({ dialect });
  await fail(message);
  expect(lines).toEqual([]);
});

test('everything is counted under bounded labels', async () => {
  const { registry, reports, fail } = setUp();
  reports.ran('messages->chat', ['tools[0].cache_control', 'tools[1].cache_control', 'secret name', '+3']);
  reports.lost('messages->chat', ['annotations']);
  await fail('parallel_tool_calls is not permitted');
  await fail('parallel_tool_calls is not permitted');
  const text = await registry.metrics();
  for (const line of [
    'modelgateway_conversions_total{conversion="messages->chat"} 1',
    'modelgateway_conversion_dropped_total{conversion="messages->chat",field="tools.cache_control"} 1',
    'modelgateway_conversion_dropped_total{conversion="messages->chat",field="other"} 1',
    'modelgateway_conversion_lost_total{conversion="messages->chat",what="annotations"} 1',
    'modelgateway_conversion_refused_total{node="home/n",setting="parallelToolCalls"} 2',
  ])
    expect(text).toContain(line);
});
