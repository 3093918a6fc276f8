const FIRST_MS = 800;
const MOST_MS = 30_000;
const RETRY_AFTER_MOST_MS = 120_000;

/**
 * Waiting times that double from 0.8 s to 30 s, each spread by ±25 % so that the clients of a fleet do not retry at the same time.
 *
 * `random` gives numbers in [0, 1).
 */
export function doublingBackoff(random: () => number) {
  let failures = 0;
  return {
    /** The next waiting time in milliseconds; never less than what the server asked for (up to two minutes). */
    next(retryAfterMs = 0): number {
      const plain = Math.min(FIRST_MS * 2 ** Math.min(failures, 10), MOST_MS);
      failures += 1;
      return Math.max(plain * (0.75 + random() * 0.5), Math.min(retryAfterMs, RETRY_AFTER_MOST_MS));
    },
    reset() {
      failures = 0;
    },
  };
}
