/** Stalls of an event loop in milliseconds, each of 2 ms and more, and the time in which they were. */
export interface Stalls {
  readonly stalls: number[];
  readonly milliseconds: number;
}

const shortest = 2;

/** Notes how late a timer of 1 ms comes in this process, from now until the answer is called. */
export function stallMeter(): () => Stalls {
  const stalls: number[] = [];
  const begin = performance.now();
  let last = begin;
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - last >= shortest) stalls.push(now - last - 1);
    last = now;
  }, 1).unref();
  return () => {
    clearInterval(timer);
    return { stalls, milliseconds: performance.now() - begin };
  };
}
