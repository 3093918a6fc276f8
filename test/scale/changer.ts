// A thread that switches keys off and on again at a fixed rate, and asks the gateway with each key that it switched off until it is refused.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { apiClient } from '../support/api-client.ts';
import type { ControlPlaneAddress } from '../support/control-plane.ts';
import { resourcePathOf } from '../support/resources.ts';
import { keyChange } from './key-changes.ts';
import { keyName } from './population.ts';
import { askUntilRefused, type Refusals } from './refusals.ts';

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
  /** Whether the gateway watches these keys. */
  readonly isWatched: boolean;
}

export interface ChangerReport extends Refusals {
  readonly changes: number;
  readonly seconds: number;
  /** From asking the API server to its answer, in milliseconds. */
  readonly writes: readonly number[];
}

/** Writes that wait for an answer at one time; beyond them the rate is not reached. */
const mostWrites = 64;

parentPort?.postMessage(await run(workerData as ChangerOptions));

async function run(options: ChangerOptions): Promise<ChangerReport> {
  const { address, namespace, keys, perSecond, seconds } = options;
  await using client = apiClient(address);
  const refusals = askUntilRefused(options.gateway, options.model, options.isWatched);
  const writes: number[] = [];
  let under = 0;
  let made = 0;
  let failure: unknown;

  const change = async (index: number, enabled: boolean) => {
    under += 1;
    const began = performance.now();
    try {
      const body = { spec: { enabled } };
      await client.ask('PATCH', resourcePathOf('APIKey', namespace, keyName(index)), { body });
      const answered = performance.now();
      writes.push(answered - began);
      made += 1;
      if (!enabled) refusals.ask(index, answered);
    } catch (error) {
      failure ??= error;
    } finally {
      under -= 1;
    }
  };

  const began = performance.now();
  for (let sent = 0; failure === undefined; ) {
    const elapsed = performance.now() - began;
    if (elapsed > seconds * 1000) break;
    while (sent < (elapsed / 1000) * perSecond && under < mostWrites) {
      const { index, enabled } = keyChange(sent, keys, perSecond);
      void change(index, enabled);
      sent += 1;
    }
    await delay(1);
  }
  const took = (performance.now() - began) / 1000;
  while (under > 0) await delay(10);
  const seen = await refusals.end();
  if (failure !== undefined) throw failure;
  return { ...seen, changes: made, seconds: took, writes };
}
