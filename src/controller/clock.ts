/** The controller's clock; tests replace it. Neither function throws. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls back once after `ms` milliseconds. Returns a function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

// Node.js fires a longer timer at once, which would turn a schedule far ahead into a hot loop.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. Timers are at most 24 days long and do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), longestTimerMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
