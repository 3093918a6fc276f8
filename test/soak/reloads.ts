import { setTimeout as delay } from 'node:timers/promises';
import type { Asking } from './ask.ts';
import { extraNode, newKey, type SoakKeys, soakNodes } from './declared.ts';
import { asking, paths } from './formats.ts';
import type { Ground } from './ground.ts';
import type { ModelServers } from './model-servers.ts';

/** Changes of the configuration, one after the other, while the load goes on. */
export interface Reloads {
  readonly counts: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  pause(): Promise<void>;
  resume(): void;
}

/** How long a change may take to be in force; a second is promised, the machine may be busy. */
const inForceMs = 10_000;

export function startReloads(
  ground: Ground,
  { ask }: Asking,
  keys: SoakKeys,
  servers: ModelServers,
  everyMs: number,
): Reloads {
  const counts: Record<string, number> = {};
  const failures: string[] = [];
  const many = Array.from({ length: 50 }, (_, index) => newKey(`many-${index}`).declared);
  let turn = 0;

  const statusOf = async (key: string, model: string) => {
    const body = JSON.stringify(asking('chat', model, 'Is it there?', false));
    return (await ask({ path: paths.chat, key, body })).status;
  };
  const until = async (what: string, wanted: number, status: () => Promise<number>) => {
    const end = performance.now() + inForceMs;
    for (let seen = await status(); seen !== wanted; seen = await status()) {
      if (performance.now() > end) throw new Error(`${what}: HTTP ${seen}, not ${wanted}`);
      await delay(50);
    }
  };
  const changes: Readonly<Record<string, () => Promise<void>>> = {
    'nodes changed': () => ground.declare('nodes', soakNodes(servers, turn)),
    'node added and removed': async () => {
      const name = `extra-${turn}`;
      await ground.declare('extra', [extraNode(name, servers)]);
      await until(`${name} is added`, 200, () => statusOf(keys.api, name));
      await ground.withdraw('extra');
      await until(`${name} is gone`, 404, () => statusOf(keys.api, name));
    },
    'key added and removed': async () => {
      const { text, declared } = newKey(`extra-${turn}`);
      await ground.declare('extra-key', [declared]);
      await until('the key is added', 200, () => statusOf(text, 'chat'));
      await ground.withdraw('extra-key');
      await until('the key is gone', 401, () => statusOf(text, 'chat'));
    },
    'fifty keys changed': () =>
      ground.declare(
        'many',
        many.map((key) => ({ ...key, holds: { ...key.holds, displayName: `Turn ${turn}` } })),
      ),
    ...(ground.breakFile === undefined
      ? {}
      : {
          'file broken and mended': async () => {
            await ground.breakFile?.();
            await delay(300);
            await until('the last good version stays', 200, () => statusOf(keys.api, 'native'));
            await ground.declare('nodes', soakNodes(servers, turn));
          },
        }),
  };
  const all = Object.entries(changes);
  for (const [name] of all) counts[name] = 0;

  const work = async (stop: AbortSignal): Promise<void> => {
    while (!stop.aborted) {
      turn += 1;
      // Every other one closes circuits, or the faulty nodes would soon be left alone.
      const [name, change] = (turn % 2 === 0 ? all[0] : all[1 + (((turn - 1) / 2) % (all.length - 1))]) ?? [];
      if (name === undefined || change === undefined) return;
      try {
        await change();
        counts[name] = (counts[name] ?? 0) + 1;
      } catch (error) {
        failures.push(`${new Date().toISOString()} ${name}: ${(error as Error).message}`);
      }
      await delay(everyMs, undefined, { signal: stop }).catch(() => undefined);
    }
  };
  let stop = new AbortController();
  let working = work(stop.signal);
  return {
    ...{ counts, failures },
    async pause() {
      stop.abort();
      await working;
    },
    resume() {
      stop = new AbortController();
      working = work(stop.signal);
    },
  };
}
