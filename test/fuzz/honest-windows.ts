import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../bench/statistics.ts';
import type { HonestCaller } from './honest-caller.ts';

/** What an honest caller is asked beside: nobody, good requests, malformed ones. */
type Beside = 'nobody' | 'good' | 'malformed';

/** Medians of the honest caller's times in milliseconds, and how many times slower it is beside malformed requests. */
export interface Slowness {
  readonly medianMs: Readonly<Record<Beside, number>>;
  readonly than: Readonly<Record<Exclude<Beside, 'malformed'>, number>>;
  readonly answers: number;
  readonly wrong: readonly string[];
}

/** Runs one window of load; settles when it is over. */
export type Window = () => Promise<void>;

// There and back again: what drifts while a machine does other things falls on all three alike.
const order: readonly Beside[] = ['nobody', 'good', 'malformed', 'malformed', 'good', 'nobody'];

/** Compares in `blocks` blocks of six windows; a ratio is the median of the blocks' own. */
export async function slownessOf(
  honest: HonestCaller,
  blocks: number,
  windows: Readonly<Record<Beside, (block: number) => Promise<Window>>>,
): Promise<Slowness> {
  const seen: Record<Beside, number>[] = [];
  const wrong: string[] = [];
  let answers = 0;
  for (let block = 0; block < blocks; block++) {
    const times: Record<Beside, number[]> = { nobody: [], good: [], malformed: [] };
    for (const beside of order) {
      const run = await windows[beside](block * order.length + times[beside].length);
      // What the window before left to do is not this one's.
      await delay(100);
      await honest.during(0);
      await run();
      const heard = await honest.during(0);
      times[beside].push(heard.medianMs);
      wrong.push(...heard.wrong);
      answers += heard.count;
    }
    const mean = ([one = Number.NaN, two = Number.NaN]: readonly number[]) => (one + two) / 2;
    seen.push({ nobody: mean(times.nobody), good: mean(times.good), malformed: mean(times.malformed) });
  }
  const of = (beside: Beside) => median(seen.map((each) => each[beside]));
  const than = (beside: Beside) => median(seen.map((each) => each.malformed / each[beside]));
  return {
    medianMs: { nobody: of('nobody'), good: of('good'), malformed: of('malformed') },
    than: { nobody: than('nobody'), good: than('good') },
    answers,
    wrong,
  };
}
