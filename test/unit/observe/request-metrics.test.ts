import { Counter, Histogram, Registry, Summary } from 'prom-client';
import { expect, test } from 'vitest';
import { createRequestMetrics } from '../../../src/observe/request-metrics.ts';
import { createRequestRecord } from './request-record.ts';

/** Some of the same metrics by prom-client's own means. */
function plainMetrics(registry: Registry) {
  const registers = [registry];
  const requests = new Counter({
    name: 'modelgateway_requests_total',
    help: 'x',
    labelNames: ['route', 'format', 'model', 'node', 'code'],
    registers,
  });
  const attempts = new Counter({
    name: 'modelgateway_attempts_total',
    help: 'x',
    labelNames: ['route'],
    registers,
  });
  const duration = new Histogram({
    name: 'modelgateway_request_duration_seconds',
    help: 'x',
    labelNames: ['route'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
    registers,
  });
  const ofNode = new Summary({
    name: 'modelgateway_node_request_duration_seconds',
    help: 'x',
    labelNames: ['node'],
    percentiles: [],
    registers,
  });
  return { requests, attempts, duration, ofNode };
}

test('request metrics read as those of prom-client, at each of several scrapes', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const metrics = createRequestMetrics(ours);
  const { requests, attempts, duration, ofNode } = plainMetrics(theirs);
  const durations = [0, 1, 5, 5.001, 24, 25, 499, 2500, 899_999, 900_000, 900_001];
  for (let scrape = 0; scrape < 3; scrape++) {
    for (const [index, durationMs] of durations.entries()) {
      const route = index % 2 === 0 ? '/v1/chat/completions' : '/v1/"odd"\\route';
      const format = index % 2 === 0 ? 'chat' : 'none';
      const model = index % 3 === 0 ? undefined : `model-${index % 4}`;
      const node = index % 3 === 0 ? undefined : 'team/node';
      const [status, tried] = [index % 5 === 0 ? 499 : 200, index % 3];
      metrics.record(
        metrics.route(route),
        createRequestRecord({ route, status, model, node, attempts: tried, durationMs }),
      );
      requests.inc({ route, format, model: model ?? 'other', node: node ?? 'none', code: status });
      attempts.inc({ route }, tried);
      duration.observe({ route }, durationMs / 1000);
      ofNode.observe({ node: node ?? 'none' }, durationMs / 1000);
    }
    const expected = linesOf(await theirs.metrics());
    const names = new Set(expected.map((line) => line.replace(/[{ ].*$/, '')));
    const actual = linesOf(await ours.metrics()).filter((line) => names.has(line.replace(/[{ ].*$/, '')));
    expect(actual).toEqual(expected);
  }
});

test('what requests tell of bytes, tokens, streams and errors is counted', async () => {
  const registry = new Registry();
  const metrics = createRequestMetrics(registry);
  metrics.declare({
    routes: ['/v1/messages', '/v1/models'],
    errors: ['key_unknown', 'internal'],
    keyRefusals: new Set(['key_unknown']),
    failoverReasons: ['timeout', 'reset'],
  });
  const route = '/v1/messages';
  const meter = metrics.route(route);
  const tokens = { input: 100, output: 5000, cached: 60, reasoning: 7 };
  const served = { route, model: 'm', node: 'ns/n' };
  metrics.record(
    meter,
    createRequestRecord({ ...served, bytesIn: 10, bytesOut: 20, tokens, firstContentMs: 300 }),
  );
  metrics.record(meter, createRequestRecord({ ...served, status: 499, bytesIn: 1 }));
  metrics.record(meter, createRequestRecord({ route, status: 401, errorCode: 'key_unknown' }));
  metrics.failedOver('timeout');
  meter.gaps.observe(0.2);
  const text = await registry.metrics();
  for (const line of [
    'received_bytes_total{route="/v1/messages"} 11',
    'sent_bytes_total{route="/v1/messages"} 20',
    'sent_bytes_total{route="/v1/models"} 0',
    'cancelled_requests_total{route="/v1/messages"} 1',
    'tokens_total{model="m",node="ns/n",type="input"} 100',
    'tokens_total{model="m",node="ns/n",type="cached_input"} 60',
    'tokens_total{model="m",node="ns/n",type="output"} 5000',
    'tokens_total{model="m",node="ns/n",type="reasoning"} 7',
    'request_tokens_bucket{le="64",route="/v1/messages",type="input"} 0',
    'request_tokens_bucket{le="256",route="/v1/messages",type="input"} 1',
    'request_tokens_sum{route="/v1/messages",type="output"} 5000',
    'time_to_first_content_seconds_bucket{le="0.25",route="/v1/messages"} 0',
    'time_to_first_content_seconds_count{route="/v1/messages"} 1',
    'node_time_to_first_content_seconds_sum{node="ns/n"} 0.3',
    'stream_gap_seconds_sum{route="/v1/messages"} 0.2',
    'errors_total{error="internal"} 0',
    'errors_total{error="key_unknown"} 1',
    'key_refusals_total{reason="key_unknown"} 1',
    'failovers_total{reason="timeout"} 1',
    'failovers_total{reason="reset"} 0',
  ]) {
    expect(text).toContain(`\nmodelgateway_${line}\n`);
  }
  expect(text).not.toContain('key_refusals_total{reason="internal"}');
});

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .toSorted();
}
