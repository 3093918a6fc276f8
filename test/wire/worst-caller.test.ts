import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// One caller with a key, who does the worst that we know of with the default limits, beside an honest one.
const mib = 1024 * 1024;
const [greedy, honest] = [keyWithHash(), keyWithHash()];
const sockets = new Set<Socket>();
let node: ScriptedUpstream;
let thinking: Server;
let standalone: Standalone;

beforeAll(async () => {
  node = await startUpstream({ models: ['m'], keepRequests: false });
  // It takes no byte of a request and never answers: what it is sent stays in the gateway.
  thinking = createServer((socket) => void socket.on('error', () => {}).pause());
  await new Promise<void>((resolve) => thinking.listen(0, '127.0.0.1', resolve));
  const { port } = thinking.address() as AddressInfo;
  const quiet = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
  standalone = await startStandalone({
    manifests: {
      'all.yaml': manifests(
        manifest('UpstreamNode', 'fast', { baseURL: node.url, manualModels: ['m'], ...quiet }),
        manifest('UpstreamNode', 'thinking', {
          ...{ baseURL: `http://127.0.0.1:${port}/v1`, manualModels: ['t'], ...quiet },
        }),
        manifest('APIKey', 'greedy', { hash: greedy.hash }),
        manifest('APIKey', 'honest', { hash: honest.hash }),
      ),
    },
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await standalone[Symbol.asyncDispose]();
  await node.stop();
  thinking.close();
});

function head(path: string, fields: readonly string[]): string {
  return [
    `POST /v1${path} HTTP/1.1`,
    `host: 127.0.0.1:${standalone.port}`,
    `authorization: Bearer ${greedy.text}`,
    'content-type: application/json',
    ...fields,
    '\r\n',
  ].join('\r\n');
}

/** A connection that does `work` again whenever it has ended, until `signal`. Answers are thrown away. */
async function again(signal: AbortSignal, work: (socket: Socket) => void): Promise<void> {
  while (!signal.aborted) {
    const socket = connect(standalone.port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => {}).resume();
    work(socket);
    const stop = () => socket.destroy();
    signal.addEventListener('abort', stop);
    await new Promise((resolve) => socket.once('close', resolve));
    signal.removeEventListener('abort', stop);
    sockets.delete(socket);
    await delay(100);
  }
}

async function attack(signal: AbortSignal): Promise<void> {
  const text = (model: string) =>
    JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(31 * mib) }] });
  const bomb = gzipSync(text('t'));
  const small = JSON.stringify({ model: 'unknown', messages: [] });
  const bombTo = (path: string) => (socket: Socket) => {
    socket.write(head(path, ['content-encoding: gzip', `content-length: ${bomb.length}`]));
    socket.write(bomb);
    // Refused or held: in the first case at once again.
    socket.once('data', () => socket.destroy());
  };
  // Bodies that never end. 32 KB of gzip hold 32 MiB; plain ones fill what is left. Who is refused gives back all it held.
  const slowly = (bytes: Buffer, fields: readonly string[]) => (socket: Socket) => {
    socket.write(head('/chat/completions', [...fields, `content-length: ${bytes.length + 100}`]));
    socket.write(bytes);
    socket.once('data', () => socket.destroy());
  };
  const unended = gzipSync(Buffer.alloc(32 * mib - 8 * 1024, 'x')).subarray(0, -100);
  for (let i = 0; i < 8; i++) void again(signal, slowly(unended, ['content-encoding: gzip']));
  await delay(1_000);
  for (const [count, bytes] of [
    [40, 64 * 1024],
    [40, 4 * 1024],
    [40, 512],
  ] as const) {
    for (let i = 0; i < count; i++) void again(signal, slowly(Buffer.alloc(bytes, 'x'), []));
    await delay(300);
  }
  await delay(1_000);
  for (let i = 0; i < 4; i++) void again(signal, bombTo('/chat/completions'));
  for (let i = 0; i < 2; i++) void again(signal, bombTo('/messages'));
  for (let i = 0; i < 2; i++) {
    void again(signal, (socket) => {
      const request = head('/chat/completions', [`content-length: ${small.length}`]) + small;
      socket.write(request.repeat(250));
      socket.on('data', () => {
        if (socket.bytesRead > 50_000) socket.destroy();
      });
    });
  }
}

/** Latencies in milliseconds, ascending, of requests of 10 KB for so long. Each must be answered 200. */
async function latencies(ms: number): Promise<number[]> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(10_000) }] });
  const taken: number[] = [];
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const began = performance.now();
    const answer = await fetch(`${standalone.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${honest.text}`, 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    taken.push(performance.now() - began);
    await delay(10);
  }
  return taken.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;

test('the worst caller with the default limits leaves an honest one its answers, in time', async () => {
  await latencies(500);
  const alone = await latencies(2_000);
  const stop = new AbortController();
  void attack(stop.signal);
  // Every one of them is answered 200: before keys had shares the memory was full for all within a second.
  const beside = await latencies(8_000);
  stop.abort();
  // Its work takes the time of the same event loop: a body of 32 MiB is looked at in some 50 ms, and converted in some 300.
  expect(at(beside, 0.99)).toBeLessThan(2 * at(alone, 0.99) + 3_000);
});
