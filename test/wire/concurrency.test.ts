import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let registry: Registry;
let node: ScriptedUpstream;

const concurrency = (maxRequests: number, waiting = 0, timeoutSeconds = 30) => ({
  concurrency: { maxRequests, queue: { maxRequests: waiting, timeoutSeconds } },
});

beforeEach(async () => {
  registry = new Registry();
  gateway = await startGateway({ registry, limits: { keepAliveMs: 100 } });
  node = await gateway.addNode('n');
});
afterEach(() => gateway.close());

const bound = (spec: object) => gateway.setNode('n', { baseURL: node.url, manualModels: ['m'], ...spec });
/** The node answers nothing until it is told to, or the caller leaves. */
const hang = () => node.respondWith('*', { kind: 'slowFirstByte', milliseconds: 60_000 });
const slow = (milliseconds = 50) => node.respondWith('*', { kind: 'slowFirstByte', milliseconds });
const ask = (init: RequestInit & { key?: string } = {}, members: object = {}, path = '/chat/completions') =>
  gateway.post(
    path,
    { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }], ...members },
    init.key === undefined ? init : { ...init, headers: { authorization: `Bearer ${init.key}` } },
  );
const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
};
async function metric(name: string): Promise<number> {
  const { values } = (await registry.getSingleMetric(`modelgateway_node_requests_${name}`)?.get()) ?? {
    values: [],
  };
  return values[0]?.value ?? Number.NaN;
}
const until = (name: string, value: number) =>
  eventually(`${name} = ${value}`, async () => (await metric(name)) === value, 10_000, 5);

test('a full node is passed by: the next priority answers, and without one 429 says when to come again', async () => {
  bound(concurrency(1));
  hang();
  const leaves = new AbortController();
  const held = ask({ signal: leaves.signal }).catch(() => undefined);
  await until('in_flight', 1);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await refused.json()).toMatchObject({ error: { code: 'nodes_busy', type: 'rate_limit_error' } });
  const messages = await ask({}, {}, '/messages');
  expect(messages.status).toBe(429);
  expect(await messages.json()).toMatchObject({ error: { type: 'rate_limit_error' } });
  expect(await metric('refused_total')).toBe(2);
  await gateway.addNode('spare', { spec: { priority: 10 } });
  const answer = await ask();
  expect([answer.status, answer.headers.get('x-model-gateway-node')]).toEqual([200, 'default/spare']);
  leaves.abort();
  await held;
  await until('in_flight', 0);
  node.respondWith('*', undefined);
  expect((await ask()).headers.get('x-model-gateway-node')).toBe('default/n');
});

test('requests of many callers wait for a place, and all are answered', async () => {
  bound(concurrency(2, 100));
  slow(20);
  const keys = [gateway.key, gateway.addKey()];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) =>
      statusOf(ask({ key: keys[at % 2] ?? '' }, at % 4 === 0 ? { stream: true } : {})),
    ),
  );
  expect(new Set(answers)).toEqual(new Set([200]));
  await until('in_flight', 0);
  expect(await metric('waiting')).toBe(0);
});

test('a place is free again exactly once, however the attempt ends', async () => {
  bound(concurrency(1, 10));
  const ends = [
    { kind: 'resetBeforeHead' },
    { kind: 'answer', status: 500, body: {} },
    { kind: 'answer', status: 400, body: { error: { message: 'no' } } },
    { kind: 'well' },
  ] as const;
  for (const behaviour of ends) {
    node.respondWith('*', behaviour);
    await statusOf(ask());
    await statusOf(ask({}, { stream: true }));
    await statusOf(ask({}, { stream: true }, '/messages'));
    await statusOf(ask({}, {}, '/messages'));
    await until('in_flight', 0);
  }
  hang();
  for (const stream of [false, true]) {
    const leaves = new AbortController();
    const left = ask({ signal: leaves.signal }, { stream }).catch(() => undefined);
    await until('in_flight', 1);
    leaves.abort();
    await left;
    await until('in_flight', 0);
  }
});

test('a caller that leaves the queue frees its place at once, and a request that waits too long is refused', async () => {
  bound(concurrency(1, 1, 1));
  hang();
  const holds = new AbortController();
  const held = ask({ signal: holds.signal }).catch(() => undefined);
  await until('in_flight', 1);
  const leaves = new AbortController();
  const left = ask({ signal: leaves.signal }).catch(() => undefined);
  await until('waiting', 1);
  expect(await statusOf(ask())).toBe(429);
  leaves.abort();
  await left;
  await until('waiting', 0);
  const began = performance.now();
  expect(await statusOf(ask())).toBe(429);
  expect(performance.now() - began).toBeGreaterThan(900);
  holds.abort();
  await held;
});

test('a waiting stream gets keep-alives, and then its answer', async () => {
  bound(concurrency(1, 10));
  slow(1_000);
  const first = statusOf(ask());
  await until('in_flight', 1);
  const answer = await ask({}, { stream: true });
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toMatch(/^: keepalive/);
  expect(text).toContain('[DONE]');
  expect(await first).toBe(200);
});

test('a waiting stream that gets no place ends with an error in the stream', async () => {
  bound(concurrency(1, 10, 1));
  hang();
  const holds = new AbortController();
  const held = ask({ signal: holds.signal }).catch(() => undefined);
  await until('in_flight', 1);
  const answer = await ask({}, { stream: true });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain('nodes_busy');
  holds.abort();
  await held;
});

test('keys of a higher priority come first, and keys of one priority take turns', async () => {
  bound(concurrency(1, 100));
  hang();
  const keys = {
    batch: gateway.addKey(),
    person: gateway.addKey(),
    high: gateway.addKey({ priority: 'High' }),
    low: gateway.addKey({ priority: 'Low' }),
  };
  const order: string[] = [];
  const holds = new AbortController();
  const held = ask({ signal: holds.signal }).catch(() => undefined);
  const all: Promise<Response>[] = [];
  await until('in_flight', 1);
  const names = ['low', 'batch', 'batch', 'batch', 'person', 'high'] as const;
  for (const [at, name] of names.entries()) {
    all.push(
      ask({ key: keys[name] }).then((answer) => {
        order.push(name);
        return answer;
      }),
    );
    await until('waiting', at + 1);
  }
  slow(20);
  holds.abort();
  await held;
  for (const answer of all) expect(await statusOf(answer)).toBe(200);
  expect(order).toEqual(['high', 'batch', 'person', 'batch', 'batch', 'low']);
});

test('a changed bound, or a node that is disabled, takes effect for who waits', async () => {
  bound(concurrency(1, 100));
  hang();
  const leaves = new AbortController();
  const held = [ask({ signal: leaves.signal }).catch(() => undefined)];
  await until('in_flight', 1);
  held.push(ask({ signal: leaves.signal }).catch(() => undefined));
  await until('waiting', 1);
  bound(concurrency(2, 100));
  await until('in_flight', 2);
  const waits = ask();
  await until('waiting', 1);
  bound({ ...concurrency(2, 100), enabled: false });
  expect(await statusOf(waits)).toBe(403);
  leaves.abort();
  await Promise.all(held);
});

test('a key that is revoked while its request waits opens nothing', async () => {
  bound(concurrency(1, 100));
  hang();
  const leaves = new AbortController();
  const held = ask({ signal: leaves.signal }).catch(() => undefined);
  await until('in_flight', 1);
  const revoked = ask({ key: gateway.addKey() });
  await until('waiting', 1);
  gateway.content.remove('APIKey', 'default', 'key-2');
  leaves.abort();
  await held;
  expect(await statusOf(revoked)).toBe(401);
  expect(node.requestsTo('/chat/completions')).toHaveLength(1);
  await until('in_flight', 0);
});
