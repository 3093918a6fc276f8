import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyWithHash, manifest, manifests, type Standalone, startStandalone } from '../support/standalone.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// A caller with a key runs the worst attacks that we know within the default limits, while an honest caller sends requests.
// Callers, node and gateways are separate processes. Two figures separate the cost for the gateway from the cost for the
// machine: the latencies of the honest caller while the same attack runs against another gateway, and the processor time of
// the turns of the event loop, which does not depend on the machine's other load.
const [greedy, honest] = [keyWithHash(), keyWithHash()];
let node: ScriptedUpstream;
let thinking: Server;
let attacked: Standalone;
let other: Standalone;
let folder: string;
let turnsFile: string;

beforeAll(async () => {
  node = await startUpstream({ models: ['m'], keepRequests: false });
  // It takes no byte of a request and never answers: what it is sent stays in the gateway.
  thinking = createServer((socket) => void socket.on('error', () => {}).pause());
  await new Promise<void>((resolve) => thinking.listen(0, '127.0.0.1', resolve));
  const { port } = thinking.address() as AddressInfo;
  const quiet = { healthCheck: { mode: 'None' }, sync: { discovery: 'Never' } };
  folder = await mkdtemp(join(tmpdir(), 'worst-caller-'));
  turnsFile = join(folder, 'long-turns.json');
  const longTurns = new URL('../support/worst-caller/long-turns.ts', import.meta.url).href;
  const start = (env: Record<string, string>) =>
    startStandalone({
      env,
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
  [attacked, other] = await Promise.all([
    start({ NODE_OPTIONS: `--import ${longTurns}`, LONG_TURNS: turnsFile }),
    start({}),
  ]);
});
afterAll(async () => {
  await Promise.all([attacked[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  await node.stop();
  thinking.close();
  await rm(folder, { recursive: true });
});

/** Runs `work` while another process attacks a gateway. */
async function beside<T>({ port }: Standalone, work: () => Promise<T>): Promise<T> {
  const file = new URL('../support/worst-caller/attacker.ts', import.meta.url).pathname;
  const attacker = spawn(process.execPath, [file, String(port), greedy.text], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(attacker, 'exit');
  try {
    await once(attacker.stdout, 'data');
    // The gateway's threads have to begin.
    await delay(2_000);
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

const p99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? 0;

/** Milliseconds of processor time that long turns of the attacked gateway's event loop have taken since its start. */
async function inLongTurns(): Promise<number> {
  const counted: { readonly inLongTurns: number } = JSON.parse(await readFile(turnsFile, 'utf8'));
  return counted.inLongTurns;
}

/** One comparison: p99 of the honest caller in milliseconds, and which part of the time went into long turns. */
async function compare() {
  const alone = p99(await latencies(2_000));
  const elsewhere = p99(await beside(other, () => latencies(roundMs)));
  const { here, long } = await beside(attacked, async () => {
    const before = await inLongTurns();
    const taken = await latencies(roundMs);
    return { here: p99(taken), long: ((await inLongTurns()) - before) / roundMs };
  });
  return { own: Math.max(alone, elsewhere), here, long };
}

const roundMs = 5_000;
const mostRounds = 5;
/** The kernel gives a thread of lower priority a few milliseconds at a time, and a request needs the processor a few times. */
const schedulerMs = 20;
/** A machine on which the caller's own p99 is above this has other work, so that its latencies say nothing. */
const busyMs = 40;

test('with the default limits, an honest caller gets its answers in time beside the worst caller', {
  timeout: 240_000,
}, async () => {
  await latencies(1_000);
  const rounds: Awaited<ReturnType<typeof compare>>[] = [];
  const isFair = ({ own, here }: { own: number; here: number }) => here < 2 * own + schedulerMs;
  // A round in which the machine had other work for a moment is no failure; a gateway that is unfair is so in every round.
  while (rounds.length < mostRounds && !rounds.some((round) => isFair(round) && round.long < 0.01))
    rounds.push(await compare());
  console.log(rounds);
  // More than a hundredth of the time in long turns would be in the p99 of everybody. With pipelined requests in one turn it
  // was a fourteenth, with large bodies on the event loop nearly all of it.
  expect(Math.min(...rounds.map(({ long }) => long))).toBeLessThan(0.01);
  const quiet = rounds.filter(({ own }) => own < busyMs);
  if (quiet.length > 0) expect(quiet).toContainEqual(expect.toSatisfy(isFair));
});
