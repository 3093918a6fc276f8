import { setTimeout as delay } from 'node:timers/promises';
import { fineProcessorSeconds } from './processor-time.ts';

/** When a process counts as settled. */
interface Pace {
  /** It has used less than a tenth of a core in each of so many steps of so many seconds. */
  steps: number;
  stepSeconds: number;
  /** Waited for no longer than that. */
  longestSeconds: number;
}

/** After a start: a controller has work for a while after it is ready, which is not what the rows after it measure. */
const afterStart: Pace = { steps: 2, stepSeconds: 0.5, longestSeconds: 90 };
/** After a round: requests that were under way at its end, which would be done in the time of the next side's round. */
export const afterRound: Pace = { steps: 2, stepSeconds: 0.05, longestSeconds: 10 };

/** Waits until a process has settled and returns the seconds before that; 0 where the system does not tell. */
export async function settle(target: { pid: number }, pace: Pace = afterStart): Promise<number> {
  const begin = performance.now();
  let quietSteps = 0;
  let elapsed = 0;
  while (quietSteps < pace.steps && elapsed < pace.longestSeconds) {
    const before = fineProcessorSeconds(target.pid);
    await delay(pace.stepSeconds * 1000);
    const used = fineProcessorSeconds(target.pid) - before;
    if (Number.isNaN(used)) return 0;
    quietSteps = used < pace.stepSeconds / 10 ? quietSteps + 1 : 0;
    elapsed = (performance.now() - begin) / 1000;
  }
  return Math.max(0, elapsed - pace.steps * pace.stepSeconds);
}
