import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessUnderTest } from './process-under-test.ts';
import { processorSeconds } from './processor-time.ts';

const stepSeconds = 0.5;
const longestSeconds = 90;

/**
 * Waits until a process has used less than a tenth of a core for a second, and returns the seconds before that; 0 where the
 * system does not tell. A controller has work for a while after it is ready, which is not what the rows after it measure.
 */
export async function settle(target: ProcessUnderTest): Promise<number> {
  const begin = performance.now();
  let quietSteps = 0;
  let elapsed = 0;
  while (quietSteps < 1 / stepSeconds && elapsed < longestSeconds) {
    const before = processorSeconds(target.pid);
    await delay(stepSeconds * 1000);
    const used = processorSeconds(target.pid) - before;
    if (Number.isNaN(used)) return 0;
    quietSteps = used < stepSeconds / 10 ? quietSteps + 1 : 0;
    elapsed = (performance.now() - begin) / 1000;
  }
  return Math.max(0, elapsed - 1);
}
