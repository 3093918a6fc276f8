import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

const key = keyWithHash();
let receiver: OtlpReceiver;
let upstream: ScriptedUpstream;
let broken: ScriptedUpstream;
let standalone: Standalone | undefined;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  upstream = await startUpstream({ models: ['m'] });
  broken = await startUpstream({ models: ['m'] });
});
afterEach(async () => {
  await standalone?.[Symbol.asyncDispose]();
  standalone = undefined;
  await Promise.all([upstream.stop(), broken.stop(), receiver.close()]);
});

async function start(env: Record<string, string>): Promise<Standalone> {
  const spec = { manualModels: ['m'], healthCheck: { mode: 'None' } };
  standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'good', { ...spec, baseURL: upstream.url, priority: 10 }),
        manifest('UpstreamNode', 'bad', { ...spec, baseURL: broken.url, priority: 90 }),
        manifest('APIKey', 'k', { hash: key.hash }),
      ),
    },
    env,
  });
  return standalone;
}
const otlp = () => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=team-a',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '300',
});
const ask = (program: Standalone, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(program.baseURL + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'm', ...body }),
  });
const messages = [{ role: 'user', content: 'planted-content' }];

describe('traces', () => {
  test('one span for a request and one for each attempt, in the caller’s trace, without content', async () => {
    broken.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
    const program = await start(otlp());
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const answer = await ask(
      program,
      '/messages',
      { messages, max_tokens: 9, stream: true },
      { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'vendor=x' },
    );
    await answer.text();
    await eventually('the spans are here', () => receiver.spans.length === 3, 20_000, 20);
    const [bad, good, server] = ['bad', 'good', 'server'].map((name) =>
      receiver.spans.find(({ kind, attributes }) =>
        name === 'server'
          ? kind === 'server'
          : kind === 'client' && attributes['modelgateway.node'] === `default/${name}`,
      ),
    );
    expect(server).toMatchObject({
      traceId,
      parentId: 'b7ad6b7169203331',
      name: 'POST /v1/messages',
      failed: false,
      attributes: {
        'http.route': '/v1/messages',
        'http.response.status_code': 200,
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'm',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.response.time_to_first_chunk': expect.any(Number),
        'modelgateway.key': 'default/k',
        'modelgateway.attempts': 2,
        'modelgateway.conversion': 'messages->chat',
      },
      resource: {
        'service.name': 'model-gateway',
        'deployment.environment.name': 'test',
        'modelgateway.role': 'standalone',
      },
    });
    expect(bad).toMatchObject({
      traceId,
      parentId: server?.spanId,
      name: 'chat m',
      failed: true,
      attributes: { 'error.type': 'server_error', 'modelgateway.attempt': 1, 'server.address': '127.0.0.1' },
    });
    expect(good).toMatchObject({
      traceId,
      parentId: server?.spanId,
      failed: false,
      attributes: {
        'modelgateway.outcome': 'ok',
        'gen_ai.usage.output_tokens': expect.any(Number),
        'server.port': Number(new URL(upstream.url).port),
      },
    });
    expect(good?.milliseconds).toBeLessThanOrEqual(server?.milliseconds ?? 0);
    // The node is given the attempt's span as its parent, once.
    const [sent] = upstream.requests.filter(({ path }) => path.endsWith('/chat/completions'));
    expect(sent?.headers).toMatchObject({
      traceparent: `00-${traceId}-${good?.spanId}-01`,
      tracestate: 'vendor=x',
    });
    expect(receiver.headers[0]).toMatchObject({
      'x-tenant': 'team-a',
      'content-type': 'application/x-protobuf',
    });
    const everything = Buffer.concat(receiver.bodies).toString('latin1');
    expect(everything).not.toContain('planted-content');
    expect(everything).not.toContain(key.text);
  });

  test('the sampler is the one that is named; what a caller sends wrong begins a new trace', async () => {
    const program = await start({
      ...otlp(),
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      OTEL_METRICS_EXPORTER: 'none',
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const sampled = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    for (const headers of [
      {},
      { traceparent: 'nonsense' },
      { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
      sampled,
    ])
      await (await ask(program, '/chat/completions', { messages }, headers)).text();
    await eventually('the sampled one is here', () => receiver.spans.length === 2, 20_000, 20);
    expect(new Set(receiver.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const sent = broken.requests.filter(({ path }) => path.endsWith('/chat/completions'));
    expect(sent.map(({ headers }) => headers['traceparent'])).toEqual([
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`)),
    ]);
    expect(receiver.metrics).toEqual([]);
  });
});

test('metrics are exported under the names of the conventions, and add up', async () => {
  const program = await start({ ...otlp(), OTEL_TRACES_EXPORTER: 'none' });
  for (let i = 0; i < 3; i++) await (await ask(program, '/chat/completions', { messages })).text();
  const metric = (name: string) => receiver.metrics.find((one) => one.name === name);
  await eventually(
    'the requests are in',
    () => metric('gen_ai.server.request.duration')?.points.some(({ count }) => count === 3) === true,
    5000,
    50,
  );
  const duration = metric('gen_ai.server.request.duration');
  expect(duration).toMatchObject({ unit: 's', type: 'histogram' });
  const point = duration?.points.find(
    ({ attributes }) => attributes['http.route'] === '/v1/chat/completions',
  );
  expect(point?.buckets.reduce((sum, count) => sum + count, 0)).toBe(3);
  expect(point?.buckets).toHaveLength((point?.bounds.length ?? 0) + 1);
  expect(duration?.points.map(({ attributes }) => attributes['http.route'])).not.toContain('/v1/models');
  const tokens = metric('gen_ai.client.token.usage');
  expect(
    tokens?.points.find(
      ({ attributes }) =>
        attributes['gen_ai.token.type'] === 'input' && attributes['http.route'] === '/v1/chat/completions',
    ),
  ).toMatchObject({ count: 3 });
  expect(metric('modelgateway_requests_total')).toMatchObject({
    type: 'sum',
    points: [{ value: 3, attributes: { 'http.response.status_code': 200, 'gen_ai.request.model': 'm' } }],
  });
  expect(metric('gen_ai.client.operation.duration')?.points[0]).toMatchObject({
    count: 3,
    buckets: [3],
    bounds: [],
  });
  expect(metric('workqueue_depth')).toMatchObject({ type: 'gauge' });
  expect(receiver.spans).toEqual([]);
});

test('a collector that fails is told of once and counted; requests and the end of the process do not wait for it', async () => {
  receiver.answer = 400;
  const program = await start(otlp());
  for (let i = 0; i < 3; i++) {
    await (await ask(program, '/chat/completions', { messages })).text();
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  const warnings = () => program.log().filter(({ msg }) => msg.startsWith('Telemetry could not be exported'));
  await eventually('both signals failed', () => warnings().length === 2, 20_000, 20);
  const text = await (await fetch(`${program.admin}/metrics`)).text();
  expect(text).toMatch(/modelgateway_otlp_exports_total\{signal="traces",result="error"\} [1-9]/);
  receiver.answer = 200;
  const back = () => program.log().filter(({ msg }) => msg === 'The collector accepts telemetry again');
  await (await ask(program, '/chat/completions', { messages })).text();
  await eventually('it is told of its recovery', () => back().length === 2, 20_000, 20);
  expect(warnings()).toHaveLength(2);
  receiver.answer = 'nothing';
  const before = performance.now();
  expect((await ask(program, '/chat/completions', { messages })).status).toBe(200);
  expect(performance.now() - before).toBeLessThan(5_000);
  const stopping = performance.now();
  expect(await program.stop()).toBe(0);
  expect(performance.now() - stopping).toBeLessThan(12_000);
});

test('where it is off nothing of OpenTelemetry’s SDK is loaded; what the variables say wrong is told', async () => {
  const hook = new URL('../support/loaded-modules.ts', import.meta.url).href;
  const program = await start({
    NODE_OPTIONS: `--import ${hook}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  });
  expect((await ask(program, '/chat/completions', { messages })).status).toBe(200);
  await program.stop();
  expect(program.output()).toContain('loaded: prom-client');
  // prom-client loads the interfaces by itself.
  expect(program.output()).not.toMatch(/loaded: @opentelemetry\/(?!api\n)/);
  expect(program.log().map(({ msg }) => msg)).toContain('A variable of OpenTelemetry could not be used');
  expect(receiver.bodies).toEqual([]);
});
