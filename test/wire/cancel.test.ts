import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ limits: { keepAliveMs: 50 } });
  upstream = await gateway.addNode('n');
});
afterEach(() => gateway.close());

test.each<[string, boolean, Behaviour]>([
  ['plain, before the head', false, { kind: 'hang' }],
  ['plain, in the body', false, { kind: 'endlessBody' }],
  ['streamed, before the head', true, { kind: 'hang' }],
  ['streamed, before content', true, { kind: 'hangAfterHead' }],
  ['streamed, after content', true, { kind: 'hangMidStream', chunks: 2 }],
])(
  '%s: the upstream request ends within 100 ms of the caller’s leaving',
  async (_name, stream, behaviour) => {
    upstream.respondWith('/chat/completions', behaviour);
    const abort = new AbortController();
    const answer = gateway
      .post('/chat/completions', { model: 'm', stream }, { signal: abort.signal })
      .catch(() => {});
    await upstream.waitFor(([request]) => request?.bodyComplete === true);
    // What a busy machine takes for the same without a gateway is not the gateway's.
    const control = await startUpstream({});
    control.respondWith('/chat/completions', behaviour);
    const direct = fetch(`${control.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', stream }),
      signal: abort.signal,
    })
      .then((response) => response.text())
      .catch(() => {});
    await control.waitFor(([request]) => request?.bodyComplete === true);
    await delay(120);
    const left = performance.now();
    abort.abort();
    const goneAfter = async (node: ScriptedUpstream): Promise<number> => {
      await node.waitFor(([request]) => request?.clientGoneTime !== undefined);
      return (node.requests[0]?.clientGoneTime ?? Number.POSITIVE_INFINITY) - left;
    };
    const [ours, theirs] = await Promise.all([goneAfter(upstream), goneAfter(control)]);
    expect(ours - theirs).toBeLessThan(100);
    await Promise.all([answer, direct]);
    await control.stop();
    expect(gateway.done).toMatchObject([{ status: 499, node: 'default/n', attempts: 1 }]);
    expect(gateway.gateway.inFlight()).toBe(0);
    expect(gateway.gateway.openCircuits()).toBe(0);
    expect(upstream.requests).toHaveLength(1);
  },
);

test('a caller that leaves while it sends its body is forgotten', async () => {
  const abort = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await delay(10);
      controller.enqueue(Buffer.from('{"model":'));
    },
  });
  const init = { signal: abort.signal, duplex: 'half' } as RequestInit;
  const answer = fetch(`${gateway.baseURL}/chat/completions`, {
    ...init,
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}` },
    body,
  }).catch(() => {});
  await delay(50);
  expect(gateway.gateway.inFlight()).toBe(1);
  abort.abort();
  await answer;
  await delay(50);
  expect(gateway.gateway.inFlight()).toBe(0);
  expect(gateway.done).toMatchObject([{ status: 499, attempts: 0 }]);
  expect(upstream.requests).toHaveLength(0);
});

test('many callers that leave do not open a circuit', async () => {
  upstream.respondWith('/chat/completions', { kind: 'hang' });
  for (let i = 0; i < 6; i++) {
    await gateway
      .post('/chat/completions', { model: 'm' }, { signal: AbortSignal.timeout(30) })
      .catch(() => {});
  }
  await delay(30);
  expect(gateway.gateway.openCircuits()).toBe(0);
});
