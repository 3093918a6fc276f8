import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTrafficMetrics, type TrafficMetrics } from '../../src/observe/traffic-metrics.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

/** Which of the gateway's own steps throws, for requests that name the node `bad` alone. */
let faulty: 'began' | 'ended' | 'broke' | 'failed' | 'piece' | 'contentBegan' | 'record' | undefined;
let gateway: GatewayUnderTest;
let bad: ScriptedUpstream;
let registry: Registry;

const boom = (): never => {
  throw new TypeError('a fault of our own');
};

/** The metrics of a gateway, whose counters throw where `faulty` says so: the seams that the request path has by itself. */
function faultyMetrics(): TrafficMetrics {
  const metrics = createTrafficMetrics(registry);
  const route: TrafficMetrics['requests']['route'] = (name) => {
    const meter = metrics.requests.route(name);
    return new Proxy(meter, {
      set(target, field, value) {
        if (field === 'openStreams' && faulty === 'contentBegan' && value > target.openStreams) boom();
        return Reflect.set(target, field, value);
      },
      get(target, field) {
        if (field === 'gaps' && faulty === 'piece') boom();
        return Reflect.get(target, field) as unknown;
      },
    });
  };
  return {
    ...metrics,
    requests: {
      ...metrics.requests,
      route,
      record(meter, record) {
        if (faulty === 'record') boom();
        metrics.requests.record(meter, record);
      },
    },
    attempts: {
      ...metrics.attempts,
      attempted(node, outcome) {
        if (node !== 'default/bad') return metrics.attempts.attempted(node, outcome);
        if (faulty === 'ended' && outcome === 'ok') boom();
        if (faulty === 'broke' && outcome === 'reset') boom();
        if (faulty === 'failed' && outcome === 'server_error') boom();
      },
    },
  };
}

beforeEach(async () => {
  faulty = undefined;
  registry = new Registry();
  gateway = await startGateway({ metrics: faultyMetrics(), limits: { keepAliveMs: 60 } });
  bad = await gateway.addNode('bad', {
    spec: { manualModels: ['bad'], nativeFormats: ['Messages', 'Responses', 'Completions'] },
  });
  gateway.setNode('chat-only', { baseURL: bad.url, manualModels: ['converted'] });
  await gateway.addNode('good', { spec: { manualModels: ['m'] } });
});
afterEach(() => gateway.close());

const ask = (model: string, stream: boolean, path = '/chat/completions') =>
  gateway.post(path, { model, max_tokens: 1, stream, messages: [{ role: 'user', content: 'a' }] });

/** What the caller got: the status and the text, or that its connection broke. */
async function outcome(answer: Promise<Response>): Promise<{ status: number; text: string }> {
  try {
    const response = await answer;
    const text = await response.text().catch(() => 'broken off');
    return { status: response.status, text };
  } catch {
    return { status: 0, text: 'broken off' };
  }
}

async function expectOneFault(place: string): Promise<void> {
  const lines = gateway.logged.filter((line) => line.includes('a fault of our own'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', place, err: { name: 'TypeError' } });
  if (place !== 'record') expect(lines[0]).toMatch(/"requestId":"req_\w+"/);
  expect(await registry.getSingleMetricAsString('modelgateway_internal_errors_total')).toContain(
    `modelgateway_internal_errors_total{place="${place}"} 1\n`,
  );
}

/** Another request beside it is served, and nothing of the failed one is left. */
async function expectServed(): Promise<void> {
  faulty = undefined;
  expect((await outcome(ask('m', true))).text).toContain('[DONE]');
  await expect.poll(() => gateway.gateway.inFlight()).toBe(0);
}

describe('a fault of the gateway’s own ends its own request, and no other', () => {
  test.each([
    ['contentBegan', true],
    ['piece', true],
    ['ended', true],
    ['ended', false],
  ] as const)('while an answer is handled: %s (stream: %s)', async (step, stream) => {
    faulty = step;
    const { status, text } = await outcome(ask('bad', stream));
    expect(status).toBe(200);
    // An answer that is complete goes out, whatever becomes of its report.
    if (step === 'ended') expect(text).toMatch(/"chat\.completion"|\[DONE\]\n\n$/);
    else expect(text).toMatch(/^data: .*"code":"internal_error".*\n\n$/m);
    await expectOneFault('answer');
    await expectServed();
  });

  test.each([
    ['/messages', 'piece', true],
    ['/messages', 'contentBegan', true],
  ] as const)('while an answer is converted: %s, %s', async (path, step, stream) => {
    faulty = step;
    const { text } = await outcome(ask('converted', stream, path));
    expect(text).toContain('event: error\n');
    await expectOneFault('answer');
    await expectServed();
  });

  test('while a stream that broke is reported', async () => {
    faulty = 'broke';
    bad.respondWith('/chat/completions', { kind: 'resetMidStream', chunks: 2 });
    const { status, text } = await outcome(ask('bad', true));
    expect(status).toBe(200);
    expect(text).toContain('"code":"upstream_error"');
    await expectOneFault('answer');
    await expectServed();
  });

  test('while a failed attempt is reported', async () => {
    faulty = 'failed';
    bad.respondWith('/chat/completions', { kind: 'answer', status: 500, body: {} });
    const { status, text } = await outcome(ask('bad', false));
    expect(status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'internal_error' } });
    await expectOneFault('request');
    await expectServed();
  });

  test('the same once keep-alives have begun the stream: the error goes into it', async () => {
    faulty = 'failed';
    bad.respondWith('/chat/completions', {
      kind: 'slowFirstByte',
      milliseconds: 300,
      next: { kind: 'answer', status: 500, body: {} },
    });
    const { status, text } = await outcome(ask('bad', true));
    expect(status).toBe(200);
    expect(text).toMatch(/^: keepalive\n\n/);
    expect(text).toContain('"internal_error"');
    await expectOneFault('request');
    await expectServed();
  });

  test('while a request that has ended is recorded', async () => {
    faulty = 'record';
    expect((await outcome(ask('m', false))).status).toBe(200);
    await expect.poll(() => gateway.gateway.inFlight()).toBe(0);
    await expectOneFault('record');
    await expectServed();
  });
});
