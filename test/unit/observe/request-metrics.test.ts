import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRequestMetrics } from '../../../src/observe/metrics.ts';

/** The same metrics by prom-client's own means. */
function plainMetrics(registry: Registry) {
  const registers = [registry];
  const total = new Counter({
    name: 'modelgateway_requests_total',
    help: 'Requests answered, by route, model, node and HTTP status (499: the caller left).',
    labelNames: ['route', 'model', 'node', 'code'],
    registers,
  });
  const attempts = new Counter({
    name: 'modelgateway_attempts_total',
    help: 'Attempts on nodes, first ones and retries.',
    labelNames: ['route'],
    registers,
  });
  const duration = new Histogram({
    name: 'modelgateway_request_duration_seconds',
    help: 'Time from the request head to the last byte of the answer.',
    labelNames: ['route'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
    registers,
  });
  return { total, attempts, duration };
}

test('request metrics read as those of prom-client, at each of several scrapes', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const { record } = createRequestMetrics(ours);
  const { total, attempts, duration } = plainMetrics(theirs);
  const durations = [0, 1, 5, 5.001, 24, 25, 499, 2500, 899_999, 900_000, 900_001];
  for (let scrape = 0; scrape < 3; scrape++) {
    for (const [index, durationMs] of durations.entries()) {
      const route = index % 2 === 0 ? '/v1/chat/completions' : '/v1/"odd"\\route';
      const model = index % 3 === 0 ? undefined : `model-${index % 4}`;
      const node = index % 3 === 0 ? undefined : 'team/node';
      const [status, tried] = [index % 5 === 0 ? 499 : 200, index % 3];
      record({ route, status, model, node, attempts: tried, durationMs });
      total.inc({ route, model: model ?? 'other', node: node ?? 'none', code: status });
      if (tried > 0) attempts.inc({ route }, tried);
      duration.observe({ route }, durationMs / 1000);
    }
    expect(linesOf(await ours.metrics())).toEqual(linesOf(await theirs.metrics()));
  }
});

function linesOf(text: string): string[] {
  return text.split('\n').toSorted();
}
