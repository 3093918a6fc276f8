import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../../src/controller/clock.ts';
import { runController } from '../../../src/controller/run.ts';
import { Pools } from '../../../src/upstream/pools.ts';
import { type ScriptedUpstream, startUpstream, type UpstreamOptions } from '../../support/upstream.ts';
import type { MemoryStore } from './memory-store.ts';

/** Ends what a test started, the last first. Call it after each test. */
export function endings() {
  const ends: (() => Promise<unknown>)[] = [];
  return {
    add: (end: () => Promise<unknown>) => ends.push(end),
    async endAll() {
      for (const end of ends.splice(0).reverse()) await end();
    },
  };
}
type Endings = ReturnType<typeof endings>;

export async function upstream(ends: Endings, options: UpstreamOptions = {}): Promise<ScriptedUpstream> {
  const server = await startUpstream(options);
  ends.add(() => server.stop());
  return server;
}

export interface Running {
  readonly registry: Registry;
  readonly stop: () => Promise<void>;
}

/** Runs the whole controller on a store. */
export function start(
  ends: Endings,
  memory: MemoryStore,
  options: { clock?: Clock; isLeaderValid?: () => boolean; gatewayURL?: string } = {},
): Running {
  const abort = new AbortController();
  const pools = new Pools({ rules: { allowLoopback: true } });
  const registry = new Registry();
  const running = runController({
    store: memory.store,
    pools,
    log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
    registry,
    clock: options.clock ?? systemClock,
    random: Math.random,
    randomBytes,
    gatewayURL: options.gatewayURL ?? 'http://gateway.test/v1',
    homeNamespace: 'home',
    signal: abort.signal,
    ...(options.isLeaderValid === undefined ? {} : { isLeaderValid: options.isLeaderValid }),
  });
  const stop = async () => {
    abort.abort();
    await running;
    await pools.destroy();
  };
  ends.add(stop);
  return { registry, stop };
}

/** Waits until the test holds, at most 4 s. */
export async function until(test: () => boolean | undefined, what: string): Promise<void> {
  const end = Date.now() + 4_000;
  while (!test()) {
    if (Date.now() > end) throw new Error(`Not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Waits long enough for whatever is under way in the controller to be done. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 60));
}

/** Conditions in one line each, without times. */
export function conditionsText(
  conditions: readonly { type: string; status: string; reason: string }[] | undefined,
): string[] {
  return (conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}
