import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';

let registry: Registry;
let gateway: GatewayUnderTest;

beforeEach(async () => {
  registry = new Registry();
  gateway = await startGateway({ registry });
});
afterEach(() => gateway.close());

/** The value of a series, whatever the order of its labels. */
const value = async (name: string, labels: Record<string, string> = {}): Promise<number | undefined> => {
  const metrics = await registry.getMetricsAsJSON();
  for (const metric of metrics)
    for (const sample of metric.values as { metricName?: string; labels: object; value: number }[]) {
      const found = (sample.metricName ?? metric.name) === `modelgateway_${name}`;
      const own = new Map(Object.entries(sample.labels).map(([label, text]) => [label, String(text)]));
      if (found && Object.entries(labels).every(([label, text]) => own.get(label) === text))
        return sample.value;
    }
  return undefined;
};
const body = (stream: boolean) => ({
  model: 'm',
  stream,
  max_tokens: 9,
  messages: [{ role: 'user', content: 'x' }],
  ...(stream ? { stream_options: { include_usage: true } } : {}),
});
const finished = (count: number) =>
  eventually('requests are recorded', () => gateway.done.length === count, 2000, 5);

describe.each([
  ['/v1/chat/completions', [], 'passed through'],
  ['/v1/messages', ['Messages'], 'passed through'],
  ['/v1/messages', [], 'converted'],
  ['/v1/responses', ['Responses'], 'passed through'],
  ['/v1/responses', [], 'converted'],
] as const)('%s on a node that speaks %j besides chat (%s)', (route, nativeFormats, _) => {
  test.each([false, true])('tokens, bytes and times are counted (stream: %s)', async (stream) => {
    await gateway.addNode('n', { spec: { nativeFormats: [...nativeFormats] } });
    const request = route === '/v1/responses' ? { model: 'm', stream, input: 'x' } : body(stream);
    const answer = await gateway.post(route.slice(3), request);
    const text = await answer.text();
    expect(answer.status).toBe(200);
    await finished(1);
    const said = JSON.stringify(request);
    expect(await value('received_bytes_total', { route })).toBe(said.length);
    expect(await value('sent_bytes_total', { route })).toBe(Buffer.byteLength(text));
    const labels = { model: 'm', node: 'default/n' };
    expect(await value('requests_total', { route, ...labels, code: '200' })).toBe(1);
    expect(await value('tokens_total', { ...labels, type: 'input' })).toBeGreaterThan(0);
    expect(await value('tokens_total', { ...labels, type: 'output' })).toBeGreaterThan(0);
    expect(await value('request_tokens_count', { route, type: 'output' })).toBe(1);
    expect(await value('time_to_first_content_seconds_count', { route })).toBe(stream ? 1 : 0);
    expect(((await value('stream_gap_seconds_count', { route })) ?? 0) > 0).toBe(stream);
    expect(await value('open_streams', { route })).toBe(0);
    expect(await value('node_request_duration_seconds_count', { node: 'default/n' })).toBe(1);
  });
});

test('a stream is open while it flows; a caller that leaves counts as cancelled', async () => {
  const route = '/v1/chat/completions';
  const upstream = await gateway.addNode('n');
  Object.assign(upstream.answers, { chunks: 500, chunkDelayMilliseconds: 20 });
  const leave = new AbortController();
  const answer = await gateway.post('/chat/completions', body(true), { signal: leave.signal });
  await answer.body?.getReader().read();
  expect(await value('open_streams', { route })).toBe(1);
  expect(await value('requests_in_flight')).toBe(1);
  leave.abort();
  await finished(1);
  expect(await value('open_streams', { route })).toBe(0);
  expect(await value('cancelled_requests_total', { route })).toBe(1);
  expect(await value('requests_total', { route, code: '499' })).toBe(1);
});

test('failovers, circuits and refusals are counted by reason', async () => {
  const bad = await gateway.addNode('bad', { spec: { priority: 90 } });
  await gateway.addNode('good', { spec: { priority: 10 } });
  expect(await value('failovers_total', { reason: 'server_error' })).toBe(0);
  bad.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
  for (let i = 0; i < 6; i++) await (await gateway.post('/chat/completions', body(false))).text();
  expect(await value('failovers_total', { reason: 'server_error' })).toBe(5);
  const circuit = { node: 'default/bad', model: 'm', state: 'open' };
  expect(await value('circuit_state', circuit)).toBe(1);
  expect(await value('circuits_open')).toBe(1);
  expect(await value('circuit_openings_total', { node: 'default/bad' })).toBe(1);
  for (const key of ['', 'nonsense-nonsense-nonsense']) {
    const init = { headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } };
    expect((await gateway.post('/chat/completions', body(false), init)).status).toBe(401);
  }
  await finished(8);
  expect(await value('key_refusals_total', { reason: 'key_missing' })).toBe(1);
  expect(await value('key_refusals_total', { reason: 'key_unknown' })).toBe(1);
  expect(await value('errors_total', { error: 'key_unknown' })).toBe(1);
  gateway.content.remove('UpstreamNode', 'default', 'bad');
  expect(await value('circuit_state', circuit)).toBeUndefined();
  expect(await value('requests_total', { node: 'default/bad' })).toBeUndefined();
});
