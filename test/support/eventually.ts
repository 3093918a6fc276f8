import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks `condition` every `everyMs` until it is true.
 *
 * @throws with `what` after `timeoutMs`, and whatever `condition` throws.
 */
export async function eventually(
  what: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMs = 10_000,
  everyMs = 50,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    await sleep(everyMs);
  }
}
