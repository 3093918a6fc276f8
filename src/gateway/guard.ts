/** What works for one request, and can end that request after a fault of its own. */
export interface Fallible {
  /** `error` was thrown while something from outside was handled. Must not throw. */
  failed(error: unknown): void;
}

/** A listener that gives what it throws to `owner`. */
export function guarded<A extends unknown[]>(
  owner: Fallible,
  act: (...args: A) => void,
): (...args: A) => void {
  return (...args) => {
    try {
      act(...args);
    } catch (error) {
      owner.failed(error);
    }
  };
}

/** Runs each act. What one throws is dropped: the fault that led here was reported, and the next act must still run. */
export function quietly(...acts: readonly (() => void)[]): void {
  for (const act of acts) {
    try {
      act();
    } catch {}
  }
}
