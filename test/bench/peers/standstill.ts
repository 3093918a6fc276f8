/** Shorter ones are the generator's ordinary turns, in milliseconds. */
const shortest = 5;

/**
 * Notes from now on when this process stands still (its heap is marked, or somebody else has its core): what is due meanwhile
 * comes at once, and would be told as the proxies' latency. The answer ends it, and returns the share of the time so spent.
 */
export function watchStandstill(): () => number {
  const from = performance.now();
  let last = from;
  let still = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - last >= shortest) still += now - last;
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return still / (performance.now() - from);
  };
}
