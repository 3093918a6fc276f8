// A thread that switches keys off and on again at a fixed rate, and asks the gateway with each key that it switched off until it is refused.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { apiClient } from '../support/api-client.ts';
import type { ControlPlaneAddress } from '../support/control-plane.ts';
import { resourcePathOf } from '../support/resources.ts';
import { keyName, keyText } from './population.ts';

export interface ChangerOptions {
  readonly address: ControlPlaneAddress;
  readonly namespace: string;
  /** Base URL of the gateway, with `/v1`. */
  readonly gateway: string;
  /** Keys that may be changed: those with numbers below this. */
  readonly keys: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Some model that all may ask for. */
  readonly model: string;
}

export interface ChangerReport {
  readonly changes: number;
  readonly seconds: number;
  /** From asking the API server to its answer, in milliseconds. */
  readonly writes: readonly number[];
  /** From its answer to the first refusal, in milliseconds. */
  readonly revocations: readonly number[];
  /** Keys that still opened after `patienceMs`. */
  readonly open: number;
}

/** Writes that wait for an answer at one time; beyond them the rate is not reached. */
const mostWrites = 64;
const patienceMs = 10_000;
/** The first question comes at once; then they get rarer, as each takes from what is measured. */
const questionMs = [5, 10, 20, 40];

parentPort?.postMessage(await run(workerData as ChangerOptions));

async function run(options: ChangerOptions): Promise<ChangerReport> {
  const { address, namespace, keys, perSecond, seconds } = options;
  await using client = apiClient(address);
  const { origin, pathname } = new URL(options.gateway);
  const gateway = new Pool(origin, { connections: 64 });
  const path = `${pathname}/models/${encodeURIComponent(options.model)}`;
  const writes: number[] = [];
  const revocations: number[] = [];
  const questions: Promise<void>[] = [];
  let open = 0;
  let under = 0;
  let made = 0;
  let failure: unknown;

  const ask = async (index: number, since: number) => {
    for (let turn = 0; performance.now() - since < patienceMs; turn += 1) {
      const headers = { authorization: `Bearer ${keyText(index)}` };
      const { statusCode, body } = await gateway.request({ method: 'GET', path, headers });
      await body.dump();
      if (statusCode === 401) {
        revocations.push(performance.now() - since);
        return;
      }
      await delay(questionMs[turn] ?? 50);
    }
    open += 1;
  };
  const change = async (index: number, enabled: boolean) => {
    under += 1;
    const began = performance.now();
    try {
      const body = { spec: { enabled } };
      await client.ask('PATCH', resourcePathOf('APIKey', namespace, keyName(index)), { body });
      const answered = performance.now();
      writes.push(answered - began);
      made += 1;
      if (!enabled) questions.push(ask(index, answered));
    } catch (error) {
      failure ??= error;
    } finally {
      under -= 1;
    }
  };

  // Half of the changes revoke, half take that back, for a key that was revoked a while before.
  const lag = Math.min(Math.floor(keys / 2), perSecond * 2);
  const began = performance.now();
  for (let sent = 0; failure === undefined; ) {
    const elapsed = performance.now() - began;
    if (elapsed > seconds * 1000) break;
    while (sent < (elapsed / 1000) * perSecond && under < mostWrites) {
      const step = Math.floor(sent / 2);
      if (sent % 2 === 0) void change(step % keys, false);
      else if (step >= lag) void change((step - lag) % keys, true);
      else void change((keys - 1 - step) % keys, true);
      sent += 1;
    }
    await delay(1);
  }
  const took = (performance.now() - began) / 1000;
  while (under > 0) await delay(10);
  await Promise.all(questions);
  await gateway.destroy();
  if (failure !== undefined) throw failure;
  return { changes: made, seconds: took, writes, revocations, open };
}
