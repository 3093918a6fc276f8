import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream, type UpstreamOptions } from '../support/upstream.ts';

const key = keyWithHash();
const cleanup: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanup.splice(0).reverse()) await step();
});

async function start(
  options: UpstreamOptions,
  flags: readonly string[] = [],
): Promise<{ upstream: ScriptedUpstream; standalone: Standalone; agent: Agent }> {
  const upstream = await startUpstream({ models: ['m'], ...options });
  cleanup.push(() => upstream.stop());
  const standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'n', { baseURL: upstream.url, manualModels: ['m'] }),
        manifest('APIKey', 'k', { hash: key.hash }),
      ),
    },
    flags,
  });
  cleanup.push(() => standalone[Symbol.asyncDispose]());
  const agent = new Agent({ connections: 400, keepAliveTimeout: 60_000 });
  cleanup.push(() => agent.destroy());
  return { upstream, standalone, agent };
}

const ask = (standalone: Standalone, stream: boolean, dispatcher: Agent) =>
  request(`${standalone.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [], stream }),
    dispatcher,
  });

const canConnect = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

test('SIGTERM with 200 open streams and 20 plain requests breaks none, and then nobody listens', async () => {
  const { upstream, standalone, agent } = await start({ chunks: 40, chunkDelayMilliseconds: 100 });
  upstream.respondWith('/chat/completions', ({ body }) =>
    body.toString().includes('"stream":false') ? { kind: 'slowFirstByte', milliseconds: 4_000 } : undefined,
  );
  const plain = Array.from({ length: 20 }, async () => {
    const { statusCode, body } = await ask(standalone, false, agent);
    return [statusCode, JSON.parse(await body.text()).object];
  });
  const streams = await Promise.all(Array.from({ length: 200 }, () => ask(standalone, true, agent)));
  await upstream.waitFor(() => upstream.requestsTo('/chat/completions').length === 220);
  expect((await fetch(`${standalone.admin}/readyz`)).status).toBe(200);

  standalone.signal('SIGTERM');
  await eventually(
    'unready',
    async () => (await fetch(`${standalone.admin}/readyz`)).status === 503,
    3_000,
    5,
  );
  expect(await (await fetch(`${standalone.admin}/readyz`)).text()).toBe('stopping\n');
  expect((await fetch(`${standalone.admin}/livez`)).status).toBe(200);
  await eventually('new connections are refused', async () => !(await canConnect(standalone.port)), 3_000, 5);
  standalone.alive();

  const texts = await Promise.all(streams.map(({ body }) => body.text()));
  expect(texts.filter((text) => text.includes('w39 ') && text.endsWith('data: [DONE]\n\n'))).toHaveLength(
    200,
  );
  expect(await Promise.all(plain)).toEqual(Array(20).fill([200, 'chat.completion']));
  expect(await standalone.exited).toBe(0);
  expect(standalone.complaints().filter(({ level }) => level !== 'warn')).toEqual([]);
});

test.each([
  ['idle after a request', undefined],
  ['opened, with nothing sent', ''],
  ['in the middle of its head', 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n'],
])('a connection that is %s does not hold the end up', async (_, bytes) => {
  const { standalone, agent } = await start({});
  await (await ask(standalone, false, agent)).body.text();
  const idle = connect(standalone.port, '127.0.0.1').on('error', () => {});
  const closed = new Promise((resolve) => idle.once('close', resolve));
  await new Promise((resolve) => idle.once('connect', resolve));
  if (bytes === undefined) idle.destroy();
  else idle.write(bytes);
  const began = performance.now();
  expect(await standalone.stop()).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  await closed;
});

test('what outlives --drain-seconds is cut off, and the end is still in order', async () => {
  const { upstream, standalone, agent } = await start({}, ['--drain-seconds', '1']);
  upstream.respondWith('/chat/completions', { kind: 'hangMidStream', chunks: 1 });
  const { body } = await ask(standalone, true, agent);
  const text = body.text();
  text.catch(() => {});
  const began = performance.now();
  expect(await standalone.stop()).toBe(0);
  expect(performance.now() - began).toBeGreaterThan(900);
  expect(performance.now() - began).toBeLessThan(10_000);
  await expect(text).rejects.toThrow();
});

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('a second %s ends it at once', async (signal, code) => {
  const { upstream, standalone, agent } = await start({});
  upstream.respondWith('/chat/completions', { kind: 'hangMidStream', chunks: 1 });
  const { body } = await ask(standalone, true, agent);
  body.text().catch(() => {});
  standalone.signal(signal);
  await eventually(
    'stopping',
    () => standalone.log().some(({ msg }) => msg.startsWith('Stopping')),
    10_000,
    5,
  );
  await delay(100);
  standalone.alive();
  const began = performance.now();
  expect(await standalone.stop(signal)).toBe(code);
  expect(performance.now() - began).toBeLessThan(5_000);
});
