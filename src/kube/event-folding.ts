import type { Clock } from './clock.ts';

/** An object as an Event refers to it. */
export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
  uid?: string | undefined;
}

/** What a repetition of the same thing is folded into. */
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
 * Remembers what was said of which object in the last ten minutes, for at most 1,000 things; the one that was
 * repeated longest ago is forgotten first.
 */
export function foldRepeats(clock: Clock) {
  // In order of the last repetition, so that the first is the oldest.
  const folds = new Map<string, Fold>();

  return {
    /** Counts one more of `parts`, and says what it belongs to. */
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

    /** Forgets a fold whose Event is not in the cluster, so that the next repetition is a first again. */
    forget(fold: Fold) {
      if (folds.get(fold.key) === fold) folds.delete(fold.key);
    },

    size: () => folds.size,
  };
}
