import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './lab.ts';

const tellSeconds = 60;

/** Waits, and tells every minute for what and for how long still. */
export async function wait(lab: Lab, what: string, seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= tellSeconds) {
    lab.progress(`${what}, ${left.toFixed(0)} s more`);
    await delay(Math.min(left, tellSeconds) * 1000);
  }
}
