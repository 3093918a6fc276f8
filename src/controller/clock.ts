/** Time as the controller sees it, so that tests can hold it still. Both functions throw nothing. */
export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls back once after `ms` milliseconds; the answer cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

// Node fires a longer timer at once, which would turn a far schedule into a hot loop.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's own clock. Timers are cut at 24 days and do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), longestTimerMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
