import { expect } from 'vitest';

/** The limit for what is promised within a second: a machine that runs all tests at once may be late. Milliseconds. */
export const aSecondMs = 3_000;

/** Prints a measured duration beside its limit, and fails when it is above. Milliseconds. */
export function measured(what: string, ms: number, limitMs: number): void {
  console.log(`measured: ${what}: ${Math.round(ms)} ms (limit ${limitMs} ms)`);
  expect(ms, what).toBeLessThan(limitMs);
}

/**
 * Does `change`, then asks every few milliseconds until `seen` is true, and answers how long that took since before
 * `change` began, in milliseconds.
 *
 * @throws after `timeoutMs`, saying what was awaited
 */
export async function timeUntil(
  what: string,
  change: () => Promise<unknown>,
  seen: () => Promise<boolean> | boolean,
  timeoutMs = 10_000,
): Promise<number> {
  const began = performance.now();
  await change();
  while (!(await seen())) {
    if (performance.now() - began > timeoutMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - began;
}
