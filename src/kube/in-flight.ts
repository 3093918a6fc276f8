/**
 * Lets at most `limit` tasks run at once; the others wait in order of arrival. A task whose `signal` aborts while it
 * waits is never started and rejects with the signal's reason.
 */
export function limitInFlight(limit: number) {
  let running = 0;
  const waiting = new Set<() => void>();

  function leave() {
    running -= 1;
    const next = waiting.values().next().value;
    if (next !== undefined) {
      waiting.delete(next);
      next();
    }
  }

  function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (running < limit) {
      running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', giveUp);
        running += 1;
        resolve();
      };
      const giveUp = () => {
        waiting.delete(admit);
        reject(signal.reason);
      };
      waiting.add(admit);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  return async function run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    await enter(signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}
