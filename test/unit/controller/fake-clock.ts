import type { Clock } from '../../../src/controller/clock.ts';

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

export interface FakeClock extends Clock {
  /** Timers that are set. */
  readonly timers: ReadonlySet<Timer>;
  /** Lets time pass; timers fire in their order, each followed by a turn of the event loop. */
  advance: (ms: number) => Promise<void>;
}

/** A clock that stands at 2027-01-01 until it is told to go on. */
export function fakeClock(startMs: number = Date.parse('2027-01-01T00:00:00Z')): FakeClock {
  let nowMs = startMs;
  const timers = new Set<Timer>();
  return {
    timers,
    now: () => nowMs,
    after(ms, callback) {
      const timer = { atMs: nowMs + ms, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      for (;;) {
        await turn();
        const next = [...timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (next === undefined) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.callback();
      }
      nowMs = endMs;
      await turn();
    },
  };
}

/** Lets everything that waits for nothing but other code run. */
export async function turn(): Promise<void> {
  for (let times = 0; times < 4; times += 1) await new Promise((resolve) => setImmediate(resolve));
}
