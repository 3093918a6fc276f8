import { once } from 'node:events';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import { rawExchange } from '../support/raw-http.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

let gateway: GatewayUnderTest;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  gateway = await startGateway({ logLevel: 'error' });
  upstream = await gateway.addNode('n', { upstream: { chunks: 10, chunkDelayMilliseconds: 40 } });
});
afterEach(() => gateway.close());

const ask = (stream: boolean, dispatcher?: Agent) =>
  request(`${gateway.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [], stream }),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });

test('200 open streams end in full, and then the server is gone', async () => {
  const dispatcher = new Agent({ connections: 300 });
  const streams = await Promise.all(Array.from({ length: 200 }, () => ask(true, dispatcher)));
  const drained = gateway.gateway.drain(10_000);
  const texts = await Promise.all(streams.map(({ body }) => body.text()));
  expect(texts.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(200);
  await drained;
  expect(gateway.done).toHaveLength(200);
  expect(gateway.done.every(({ status }) => status === 200)).toBe(true);
  await expect(ask(false, dispatcher)).rejects.toThrow();
  await dispatcher.close();
});

test('during the grace new requests are answered, each as its connection’s last', async () => {
  const dispatcher = new Agent({ connections: 1 });
  await (await ask(false, dispatcher)).body.text();
  const drained = gateway.gateway.drain(10_000, 1_500);
  const during = await ask(false, dispatcher);
  expect(during.statusCode).toBe(200);
  expect(during.headers['connection']).toBe('close');
  await during.body.text();
  const again = await ask(true, dispatcher);
  expect(await again.body.text()).toMatch(/\[DONE\]\n\n$/);
  await drained;
  await expect(ask(false)).rejects.toThrow();
  await dispatcher.close();
});

test('no request is lost while requests keep coming during the grace', async () => {
  (upstream.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 0;
  const dispatcher = new Agent({ connections: 8 });
  const results: unknown[] = [];
  let stop = false;
  const callers = Array.from({ length: 8 }, async () => {
    while (!stop) {
      await ask(false, dispatcher).then(
        async ({ statusCode, body }) => {
          await body.text();
          results.push(statusCode);
        },
        (error: unknown) => results.push(error),
      );
    }
  });
  await eventually('requests flow', () => results.length > 20, 20_000, 5);
  // A grace far longer than the requests come: none may meet a closed listener because the machine is slow.
  const drained = gateway.gateway.drain(20_000, 2_000);
  const before = results.length;
  await eventually('some came during the grace', () => results.length > before + 8, 20_000, 5);
  stop = true;
  await Promise.all(callers);
  await drained;
  expect(results.filter((result) => result !== 200)).toEqual([]);
  await dispatcher.close();
});

/** One request as bytes on a connection. */
const plainCall = ({ key } = gateway) => {
  const body = '{"model":"m","messages":[]}';
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

test('a request that was on its way on a kept-alive connection when the listener closed is answered', async () => {
  (upstream.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 0;
  let drained = Promise.resolve();
  const answers = await rawExchange(gateway.port, async (socket) => {
    socket.write(plainCall());
    await once(socket, 'data');
    await delay(20);
    drained = gateway.gateway.drain(5000);
    await delay(30);
    socket.write(plainCall());
  });
  expect(answers.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
  expect(answers.match(/connection: close/gi)).toHaveLength(1);
  await drained;
});

/** As garbage collection or a neighbour on the machine does. */
const stall = (ms: number) => {
  for (const began = performance.now(); performance.now() - began < ms; );
};

test('connections that came while the process stood still are taken before the listener is closed', async () => {
  (upstream.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 0;
  const drained = gateway.gateway.drain(5_000, 50);
  const late = Array.from({ length: 5 }, () => rawExchange(gateway.port, plainCall()));
  // Until the grace is over.
  stall(200);
  for (const answer of await Promise.all(late)) expect(answer).toContain('HTTP/1.1 200 OK');
  await drained;
});

test('a request that came while the process stood still is answered before idle connections are closed', async () => {
  // Again if the machine itself stood still between the two timers: the request was then too late indeed.
  let wroteAfterMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 20 && wroteAfterMs > 50; tries++) {
    const draining = await startGateway({ logLevel: 'error' });
    await draining.addNode('n', { upstream: { chunks: 10, chunkDelayMilliseconds: 0 } });
    let drained = Promise.resolve();
    const answers = await rawExchange(draining.port, async (socket) => {
      socket.write(plainCall(draining));
      await once(socket, 'data');
      const began = performance.now();
      drained = draining.gateway.drain(5_000);
      await delay(20);
      // Behind the turn's reading, or the request would be read before the timers are looked at.
      await nextTurn();
      wroteAfterMs = performance.now() - began;
      socket.write(plainCall(draining));
      // Until idle connections are closed.
      stall(300);
    });
    await drained;
    await draining.close();
    if (wroteAfterMs <= 50) expect(answers.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
  }
  expect(wroteAfterMs).toBeLessThanOrEqual(50);
});

test('what outlives the limit is cut off', async () => {
  upstream.respondWith('/chat/completions', { kind: 'hangMidStream', chunks: 1 });
  const { body } = await ask(true);
  const text = body.text();
  text.catch(() => {});
  const started = performance.now();
  await gateway.gateway.drain(200);
  expect(performance.now() - started).toBeLessThan(5_000);
  await expect(text).rejects.toThrow();
  await upstream.waitFor(([first]) => first?.clientGoneTime !== undefined);
});

test('an idle kept-alive connection does not hold the drain up', async () => {
  const dispatcher = new Agent({ connections: 1, keepAliveTimeout: 60_000 });
  (upstream.answers as { chunkDelayMilliseconds: number }).chunkDelayMilliseconds = 0;
  await (await ask(false, dispatcher)).body.text();
  const started = performance.now();
  await gateway.gateway.drain(10_000);
  expect(performance.now() - started).toBeLessThan(5_000);
  await dispatcher.close();
});
