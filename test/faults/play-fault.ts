import { type ClusterServed, startClusterServed } from './cluster-served.ts';
import type { Fault } from './fault.ts';
import type { HonestCaller } from './honest-caller.ts';
import { notes, type Scene, type Told } from './scene.ts';
import { type Served, startServed } from './served.ts';

/** What came of one fault. */
export interface Seen {
  readonly id: string;
  readonly group: string;
  readonly section: string;
  readonly promise: string;
  readonly seen: string;
  /** What was not as promised; empty when all was. */
  readonly differs: readonly string[];
  readonly honest: { readonly sent: number; readonly failed: number };
  /** Milliseconds until the slowest honest request that went well had its answer. */
  readonly slowestMs: number;
  /** How long it took until all was well again, where that takes time. */
  readonly recoveredMs: number | undefined;
  readonly seconds: number;
}

/** Where faults are played: what they share lives here. */
export interface Theatre extends AsyncDisposable {
  play(fault: Fault): Promise<Seen>;
}

export interface TheatreOptions {
  readonly long: boolean;
}

/** How long honest callers are watched once a fault is over. */
const afterwardsMs = 200;
const betterWithinMs = 60_000;

/** Opens a theatre; nothing is started until a fault needs it. */
export function openTheatre(options: TheatreOptions): Theatre {
  let served: Promise<Served> | undefined;
  let cluster: Promise<ClusterServed> | undefined;
  const common: Common = {
    shared: () => {
      served ??= startServed();
      return served;
    },
    cluster: () => {
      cluster ??= startClusterServed();
      return cluster;
    },
  };
  return {
    play: (fault) => play(fault, options, common),
    async [Symbol.asyncDispose]() {
      await (await served)?.[Symbol.asyncDispose]();
      await (await cluster)?.[Symbol.asyncDispose]();
    },
  };
}

/** What faults have in common. */
interface Common {
  shared(): Promise<Served>;
  cluster(): Promise<ClusterServed>;
}

/** What honest callers are watched at. */
interface Watched {
  readonly honest: HonestCaller;
  readonly process: { output(): string };
}

async function play(fault: Fault, options: TheatreOptions, common: Common): Promise<Seen> {
  const began = performance.now();
  const told: Told = { saw: [], differs: [], recoveredMs: undefined };
  const ends: (() => Promise<unknown> | unknown)[] = [];
  const watched = new Map<Watched, number>();
  const watch = <T extends Watched>(served: T): T => {
    if (!watched.has(served)) watched.set(served, served.honest.mark());
    return served;
  };
  const scene: Scene = {
    ...notes(told),
    long: options.long,
    onEnd: (undo) => void ends.unshift(undo),
    async shared() {
      const served = watch(await common.shared());
      ends.push(() => served.forget());
      return served;
    },
    cluster: async () => watch(await common.cluster()),
    async ownCluster() {
      const served = await startClusterServed();
      ends.push(() => served[Symbol.asyncDispose]());
      return watch(served);
    },
    async own(standalone) {
      const served = await startServed(standalone);
      ends.push(() => served[Symbol.asyncDispose]());
      return watch(served);
    },
  };
  const honest = { sent: 0, failed: 0 };
  let slowestMs = 0;
  try {
    await fault.run(scene);
    // The long proofs have callers of their own.
    if (watched.size === 0 && fault.callers !== 'own') told.differs.push('no honest caller asked meanwhile');
    for (const [served, mark] of watched) {
      const count = await judgeHonest(fault, served, mark, told);
      honest.sent += count.sent;
      honest.failed += count.failed;
      slowestMs = Math.max(slowestMs, count.slowestMs);
    }
  } catch (error) {
    told.differs.push(error instanceof Error ? error.message : String(error));
  }
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      told.differs.push(`afterwards: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const { id, group, section, promise } = fault;
  return {
    ...{ id, group, section, promise, honest, slowestMs },
    seen: told.saw.join('; '),
    differs: told.differs,
    recoveredMs: told.recoveredMs,
    seconds: (performance.now() - began) / 1000,
  };
}

/** Whether honest callers met no more than they may, and are well served now. */
async function judgeHonest(
  fault: Fault,
  { honest, process }: Watched,
  mark: number,
  told: Told,
): Promise<{ sent: number; failed: number; slowestMs: number }> {
  const good = honest.good();
  for (const began = performance.now(); honest.good() < good + 3; ) {
    if (performance.now() - began > betterWithinMs) {
      throw new Error(`honest callers are not served: ${process.output().split('\n').slice(-5).join(' | ')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const over = honest.mark();
  await new Promise((resolve) => setTimeout(resolve, afterwardsMs));
  const afterwards = await honest.since(over);
  const { sent, failed, never, slowestMs } = await honest.since(mark);
  const harm = fault.harm ?? 'none';
  const wrong = [...never, ...(harm === 'none' ? failed : afterwards.failed)];
  for (const each of wrong.slice(0, 3)) told.differs.push(`an honest caller met: ${each}`);
  if (wrong.length > 3) told.differs.push(`and ${wrong.length - 3} more`);
  return { sent, failed: failed.length, slowestMs };
}
