import { lookup as systemLookup } from 'node:dns';
import type { Lookup } from './connect.ts';

type Callback = Parameters<Lookup>[2];

/** Names whose look-up took longer than this are looked up one after the other. In milliseconds. */
const slowMs = 1_000;
/** Most slow names remembered. */
const mostSlow = 1_000;

/**
 * Looks names up for all connections of a process. Callers that ask for the same name at the same time share one look-up.
 *
 * libuv runs `getaddrinfo` on at most half of its four threads, and a look-up cannot be cancelled. Names that were slow the
 * last time are therefore looked up one after the other, on one of these threads at most: the other remains free for fast
 * names. Nothing is cached. `now` is a monotonic clock in milliseconds.
 */
export function sharedLookup(
  lookup: Lookup = (hostname, options, callback) => systemLookup(hostname, options, callback),
  now: () => number = () => performance.now(),
): Lookup {
  const waiting = new Map<string, Callback[]>();
  const slow = new Set<string>();
  const slowQueue: (() => void)[] = [];
  let slowRuns = false;

  return (hostname, options, callback) => {
    const id = `${options.family ?? 0} ${options.hints ?? 0} ${hostname}`;
    const others = waiting.get(id);
    if (others !== undefined) {
      others.push(callback);
      return;
    }
    const callbacks = [callback];
    waiting.set(id, callbacks);
    const isSlow = slow.has(hostname);
    const run = (): void => {
      const startedMs = now();
      lookup(hostname, options, (error, addresses) => {
        if (now() - startedMs <= slowMs) slow.delete(hostname);
        else if (slow.size < mostSlow) slow.add(hostname);
        waiting.delete(id);
        if (isSlow) {
          slowRuns = false;
          runSlow();
        }
        for (const each of callbacks) each(error, addresses);
      });
    };
    if (!isSlow) return run();
    slowQueue.push(run);
    runSlow();
  };

  function runSlow(): void {
    if (slowRuns) return;
    const next = slowQueue.shift();
    if (next === undefined) return;
    slowRuns = true;
    next();
  }
}
