import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// One caller with a key, who does the worst that we know of with the default limits, beside an honest one. Callers, node
// and gateways are processes of their own. What the attack costs the machine is told apart from what it costs the gateway: the
// honest caller is first measured while the same attack goes to another gateway.
const [greedy, honest] = [keyWithHash(), keyWithHash()];
let node: ScriptedUpstream;
let thinking: Server;
let attacked: Standalone;
let other: Standalone;

beforeAll(async () => {
  node = await startUpstream({ models: ['m'], keepRequests: false });
  // It takes no byte of a request and never answers: what it is sent stays in the gateway.
  thinking = createServer((socket) => void socket.on('error', () => {}).pause());
  await new Promise<void>((resolve) => thinking.listen(0, '127.0.0.1', resolve));
  const { port } = thinking.address() as AddressInfo;
  const quiet = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
  const start = () =>
    startStandalone({
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
  [attacked, other] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all([attacked[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  await node.stop();
  thinking.close();
});

/** Runs `work` while another process attacks a gateway. */
async function beside<T>({ port }: Standalone, work: () => Promise<T>): Promise<T> {
  const file = new URL('../support/worst-caller/attacker.ts', import.meta.url).pathname;
  const attacker = spawn(process.execPath, [file, String(port), greedy.text], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(attacker, 'exit');
  try {
    // What it sends first it has to make, and the gateway's thread has to begin.
    await delay(4_000);
    expect(attacker.exitCode).toBeNull();
    return await work();
  } finally {
    attacker.kill('SIGKILL');
    await ended;
  }
}

const content = 'x'.repeat(10_000);
const kinds = [
  ['/chat/completions', {}],
  ['/chat/completions', { stream: true }],
  ['/messages', { max_tokens: 10 }],
] as const;

/** Latencies in milliseconds, ascending, of requests of 10 KB, plain, streamed and converted. Each must be answered 200. */
async function latencies(ms: number): Promise<number[]> {
  const taken: number[] = [];
  const end = performance.now() + ms;
  for (let count = 0; performance.now() < end; count++) {
    const [path, more] = kinds[count % kinds.length] ?? kinds[0];
    const began = performance.now();
    const answer = await fetch(`${attacked.baseURL}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${honest.text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more }),
    });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    taken.push(performance.now() - began);
    await delay(5);
  }
  return taken.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;

/** Worst lag of the attacked gateway's event loop since the last call, in milliseconds. */
async function worstLag(): Promise<number> {
  const text = await (await fetch(`${attacked.admin}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000;
}

test('the worst caller with the default limits leaves an honest one its answers, in time', async () => {
  await latencies(1_000);
  const alone = await latencies(3_000);
  await worstLag();
  const elsewhere = await beside(other, () => latencies(8_000));
  const lagElsewhere = await worstLag();
  const here = await beside(attacked, () => latencies(8_000));
  const lag = await worstLag();
  const p99 = { alone: at(alone, 0.99), elsewhere: at(elsewhere, 0.99), here: at(here, 0.99) };
  console.log({ ...p99, lag, lagElsewhere, count: here.length });
  // The goal is twice its own; the rest is for a machine with other work. With large bodies handled on the event loop
  // both were 1.4 s and more.
  expect(p99.here).toBeLessThan(2 * Math.max(p99.alone, p99.elsewhere) + 500);
  expect(lag).toBeLessThan(2 * lagElsewhere + 500);
});
