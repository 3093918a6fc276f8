import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import { type Asking, askingOf } from '../soak/ask.ts';
import { newKey } from '../soak/declared.ts';
import type { Ground } from '../soak/ground.ts';
import { activeOf } from '../soak/sample.ts';
import type { Finding } from './fuzz-report.ts';
import { startTypeNode, type TypeNode } from './type-node.ts';
import { mark } from './type-traffic.ts';

const mostGrownBytes = 64 * 1024 * 1024;
const goneMs = 30_000;

/** A gateway with what the cases need. */
export interface Stage extends AsyncDisposable {
  readonly ground: Ground;
  readonly node: TypeNode;
  readonly asking: Asking;
  readonly key: string;
  readonly master: string;
  /** Before anything was declared. */
  readonly before: Resting;
}

export async function openStage(newGround: () => Promise<Ground>): Promise<Stage> {
  const ground = await newGround();
  const before = await restingOf(ground);
  const node = await startTypeNode();
  const { text: key, declared } = newKey('fuzz');
  const master = generateKeyText('master', randomBytes);
  const upstream = (name: string, more: object) => ({
    ...{ kind: 'UpstreamNode' as const, name },
    holds: {
      ...{ baseURL: node.url, manualModels: [name], sync: { discovery: 'Never' } },
      ...{ healthCheck: { mode: 'None' }, timeouts: { firstByteSeconds: 15, idleSeconds: 15 }, ...more },
    },
  });
  await ground.declare('fuzz', [
    ...[declared, { kind: 'MasterKey' as const, name: 'fuzz', holds: { hash: hashKeyText(master) } }],
    upstream('chat', {}),
    upstream('native', { nativeFormats: ['Responses', 'Messages', 'Completions'] }),
    upstream('counting', { dialect: { tokenize: true } }),
    upstream('honest', {}),
  ]);
  const asking = askingOf(ground.port);
  for (let tries = 0; tries < 200; tries++) {
    if ((await asking.ask({ path: '/v1/models', key })).text.includes('honest')) break;
    await delay(50);
  }
  return {
    ...{ ground, node, asking, key, master, before },
    async [Symbol.asyncDispose]() {
      asking.close();
      await node[Symbol.asyncDispose]();
      await ground[Symbol.asyncDispose]();
    },
  };
}

/** One who asks rightly, one request after the other, and must be answered rightly. */
export async function beHonest(
  { asking, key, node }: Stage,
  times: number[],
  signal: AbortSignal,
  found: (reason: string) => Promise<void>,
): Promise<void> {
  const body = JSON.stringify({
    model: 'honest',
    messages: [{ role: 'user', content: `honest ${mark}-h-` }],
  });
  node.forget(`${mark}-h-`);
  while (!signal.aborted) {
    const began = performance.now();
    try {
      const { status, text } = await asking.ask({ path: '/v1/chat/completions', key, body });
      if (status !== 200 || !text.includes('"content":"Hi"'))
        await found(`the honest caller was answered ${status} ${text.slice(0, 200)}`);
    } catch (error) {
      await found(`the honest caller was not answered: ${String(error)}`);
      return;
    }
    times.push(performance.now() - began);
    await delay(10);
  }
}

/** A key that a case made is deleted again, so that the store stays small. */
export async function forgetKey({ asking, master }: Stage, text: string): Promise<void> {
  const { id } = JSON.parse(text) as { id: string };
  await asking.ask({ method: 'DELETE', path: `/v1/keys/${id}`, key: master });
}

export function deathOf(ground: Ground): string {
  try {
    ground.alive();
    return '';
  } catch (error) {
    return String(error).slice(-1_200);
  }
}

export async function whatIsLeft({ ground, asking, node, before }: Stage): Promise<Finding[]> {
  await node[Symbol.asyncDispose]();
  asking.close();
  await ground.withdraw('fuzz');
  const late = performance.now() + goneMs;
  let now: Resting;
  do {
    await delay(500);
    now = await restingOf(ground);
  } while (performance.now() < late && wrongs(before, now).length > 0);
  return wrongs(before, now).map((reason) => ({ target: 'types', case: '', reason }));
}

/** A gateway that nobody asks. */
interface Resting {
  /** Bytes after a collection. */
  readonly memory: number;
  /** Handles, requests and timers. */
  readonly active: number;
}

async function restingOf({ probe }: Ground): Promise<Resting> {
  const { heapUsed, external } = await probe.ask('heap');
  return { memory: heapUsed + external, active: activeOf(await probe.ask('active')) };
}

function wrongs(before: Resting, { memory, active }: Resting): string[] {
  const grown = memory - before.memory;
  return [
    ...(active > before.active ? [`left over: handles and timers ${before.active} → ${active}`] : []),
    ...(grown > mostGrownBytes ? [`memory grew by ${grown} bytes`] : []),
  ];
}
