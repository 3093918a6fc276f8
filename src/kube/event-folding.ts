import type { Clock } from './clock.ts';

/** An object as an Event refers to it. */
export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
  uid?: string | undefined;
}

/** An Event, and how often it was repeated. */
export interface Fold {
  key: string;
  /** Name of the Event object; undefined until it was created. */
  eventName: string | undefined;
  count: number;
  lastMs: number;
}

const WINDOW_MS = 10 * 60_000;
const MOST = 1_000;

/**
 * Remembers the Events of the last ten minutes, 1,000 at most; the one whose last repetition is the oldest is forgotten first.
 */
export function foldRepeats(clock: Clock) {
  // In the order of the last repetition: the first entry is the oldest.
  const folds = new Map<string, Fold>();

  return {
    /** Counts one more occurrence of `parts` and returns its fold. */
    add(parts: readonly unknown[]): Fold {
      const key = JSON.stringify(parts);
      const now = clock.monotonicMs();
      const known = folds.get(key);
      const fold =
        known !== undefined && now - known.lastMs < WINDOW_MS
          ? known
          : { key, eventName: undefined, count: 0, lastMs: now };
      fold.count += 1;
      fold.lastMs = now;
      folds.delete(key);
      folds.set(key, fold);
      const oldest = folds.keys().next().value;
      if (folds.size > MOST && oldest !== undefined) folds.delete(oldest);
      return fold;
    },

    /** Forgets a fold whose Event is not in the cluster, so that the next repetition makes a new Event. */
    forget(fold: Fold) {
      if (folds.get(fold.key) === fold) folds.delete(fold.key);
    },

    size: () => folds.size,
  };
}
