import type { Asking } from './ask.ts';
import type { SoakKeys } from './declared.ts';
import { type Scenario, scenarios } from './scenarios.ts';

/** Plays scenarios at a steady pace, whatever becomes of them. */
export interface Load {
  readonly counts: Readonly<Record<string, { played: number; failed: number }>>;
  /** What went wrong, one text each; the first 200. */
  readonly failures: readonly string[];
  /** How many were not begun, because too many were under way. */
  readonly skipped: () => number;
  /** Begins no more, and waits for those under way. */
  pause(): Promise<void>;
  resume(): void;
}

const everyMs = 20;
const mostAtOnce = 300;
const mostFailures = 200;

export function startLoad(
  asking: Asking,
  keys: SoakKeys,
  { perSecond, random }: { perSecond: number; random: () => number },
): Load {
  const counts = Object.fromEntries(scenarios.map(({ name }) => [name, { played: 0, failed: 0 }]));
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  let [number, skipped, owed] = [0, 0, 0];

  const play = async ({ name, run }: Scenario): Promise<void> => {
    number += 1;
    const mine = number;
    const count = counts[name];
    if (count !== undefined) count.played += 1;
    try {
      await run({ ...asking, number: mine, api: keys.api, master: keys.master, random });
    } catch (error) {
      if (count !== undefined) count.failed += 1;
      const at = new Date().toISOString();
      if (failures.length < mostFailures) failures.push(`${at} ${name} ${mine}: ${(error as Error).message}`);
    }
  };
  const tick = () => {
    for (owed += (perSecond * everyMs) / 1000; owed >= 1; owed--) {
      if (underWay.size >= mostAtOnce) {
        skipped += 1;
        continue;
      }
      const playing = play(choose(random()));
      underWay.add(playing);
      playing.finally(() => underWay.delete(playing)).catch(() => undefined);
    }
  };
  let timer = setInterval(tick, everyMs);
  return {
    ...{ counts, failures, skipped: () => skipped },
    async pause() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
    resume() {
      timer = setInterval(tick, everyMs);
    },
  };
}

const allWeights = scenarios.reduce((sum, { weight }) => sum + weight, 0);

/** `share` in [0, 1). */
function choose(share: number): Scenario {
  let left = share * allWeights;
  for (const scenario of scenarios) {
    left -= scenario.weight;
    if (left < 0) return scenario;
  }
  throw new RangeError(`no scenario at ${share}`);
}
