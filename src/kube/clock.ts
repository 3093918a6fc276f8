/** The clock of this folder. Tests replace it, so that they need not wait. */
export interface Clock {
  /** Milliseconds that never decrease, from an unknown origin. */
  monotonicMs(): number;
  /** The time of day, for texts that other machines read. */
  wall(): Date;
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wall: () => new Date(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits `ms` milliseconds or until `signal` aborts, whichever is first; never rejects. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || ms <= 0) return resolve();
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
