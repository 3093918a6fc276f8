import { setTimeout as delay } from 'node:timers/promises';
import { type Asking, askingOf } from './ask.ts';
import { soakKeys, soakNodes } from './declared.ts';
import { brokenFile, type Ground } from './ground.ts';
import { type Load, startLoad } from './load.ts';
import { type ModelServers, startModelServers } from './model-servers.ts';
import type { SoakOptions } from './options.ts';
import { type Reloads, startReloads } from './reloads.ts';
import { type Idle, isAsIdleAs, type Sample, takeIdle, takeSample } from './sample.ts';

/** Everything that was seen. */
export interface SoakRecord {
  readonly samples: readonly Sample[];
  /** Without nodes and without a request: before the load, after the warm-up, at the end. */
  readonly idle: { readonly start: Idle; readonly warm: Idle; readonly end: Idle };
  readonly load: Pick<Load, 'counts' | 'failures'> & { readonly skipped: number };
  readonly reloads: Pick<Reloads, 'counts' | 'failures'>;
  readonly servers: ModelServers['seen'];
  /** Lines of level error that the processes logged. */
  readonly errors: readonly string[];
}

/** How long connections, timers and answers may take to go once nothing is asked. */
const idleMs = 30_000;

/** Soaks the gateway of `ground`. `tell` is told of every sample. @throws when the process ends */
export async function soak(
  ground: Ground,
  options: SoakOptions,
  tell: (sample: Sample, load: Load, seen: ModelServers['seen']) => void,
): Promise<SoakRecord> {
  const random = randomOf(options.seed);
  await using servers = await startModelServers(random);
  const asking = askingOf(ground.port);
  const keys = soakKeys();
  await ground.declare('keys', keys.declared);
  await until('the key opens', () => has(asking, keys.api, []));
  asking.close();
  await delay(500);
  const start = await takeIdle(ground);
  const declareNodes = async () => {
    await ground.declare('nodes', soakNodes(servers, 0));
    await until('the nodes serve', () => has(asking, keys.api, ['chat', 'native', 'far-2']));
  };
  await declareNodes();

  await ground.probe.ask('stalls');
  const load = startLoad(asking, keys, { perSecond: options.perSecond, random });
  const reloads = startReloads(ground, asking, keys, servers, options.reloadMs);
  let began = performance.now();
  const secondsNow = () => (performance.now() - began) / 1000;
  const samples: Sample[] = [];
  const sampleUntil = async (seconds: number) => {
    while (secondsNow() < seconds) {
      await delay(Math.min(options.sampleSeconds, seconds - secondsNow()) * 1000);
      ground.alive();
      const thorough = samples.length % options.thoroughEvery === 0;
      const sample = await takeSample(ground, secondsNow(), thorough);
      samples.push(sample);
      tell(sample, load, servers.seen);
    }
  };
  /** Stops asking, takes all nodes away, and waits until nothing is left of what was asked. */
  const rest = async (): Promise<Idle> => {
    await Promise.all([load.pause(), reloads.pause()]);
    for (const file of ['extra', 'extra-key', 'many', 'nodes']) await ground.withdraw(file);
    asking.close();
    const all = [...servers.steady, ...servers.faulty];
    await settled(() => servers.seen.open === 0 && all.every((server) => server.connectionCount() === 0));
    await settled(() => isAsIdleAs(ground, start));
    return takeIdle(ground);
  };

  await sampleUntil(options.warmUpSeconds);
  const rested = performance.now();
  const warm = await rest();
  await declareNodes();
  began += performance.now() - rested;
  // What was done to rest is no delay of the load's.
  await ground.probe.ask('stalls');
  load.resume();
  reloads.resume();
  await sampleUntil(options.seconds);
  const end = await rest();
  const errors = ground.log().filter((line) => line['level'] === 'error' && line['file'] !== brokenFile);
  return {
    samples,
    idle: { start, warm, end },
    load: { counts: load.counts, failures: load.failures, skipped: load.skipped() },
    reloads: { counts: reloads.counts, failures: reloads.failures },
    servers: { ...servers.seen },
    errors: errors.map((line) => JSON.stringify(line)),
  };
}

async function has({ ask }: Asking, key: string, models: readonly string[]): Promise<boolean> {
  const { status, text } = await ask({ path: '/v1/models', key });
  if (status !== 200) return false;
  const names = (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
  return models.every((name) => names.includes(name));
}

async function until(what: string, test: () => Promise<boolean>): Promise<void> {
  const late = performance.now() + 30_000;
  while (!(await test())) {
    if (performance.now() > late) throw new Error(`not within 30 s: ${what}`);
    await delay(50);
  }
}

/** Waits as long as is allowed; what is left then is judged. */
async function settled(test: () => Promise<boolean> | boolean): Promise<void> {
  const late = performance.now() + idleMs;
  while (!(await test()) && performance.now() < late) await delay(250);
}

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
