import type { Clock } from '../../../src/kube/clock.ts';

interface Timer {
  at: number;
  run: () => void;
}

/** A clock that stands still until `advance`. Timers fire in order, with a turn of the event loop after each. */
export function fakeClock() {
  let now = 1_000;
  const timers = new Set<Timer>();
  const clock: Clock = {
    monotonicMs: () => now,
    wall: () => new Date(Date.UTC(2026, 0, 1) + now),
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
  return {
    ...clock,
    /** How long until each pending timer, shortest first. */
    pending: () => [...timers].map((timer) => timer.at - now).sort((a, b) => a - b),
    /** Lets the clock jump without its timers firing, as a stalled event loop does. */
    stall(ms: number) {
      now += ms;
    },
    async advance(ms: number) {
      const end = now + ms;
      for (;;) {
        const due = [...timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        timers.delete(due);
        now = Math.max(now, due.at);
        due.run();
        await turn();
      }
      now = Math.max(now, end);
      await turn();
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
