/** Something that works for one request, and can end that request if it fails. */
export interface Fallible {
  /** `error` was thrown while input from outside was handled. Must not throw. */
  failed(error: unknown): void;
}

/** A listener that passes what it throws to `owner.failed`. */
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

/** Runs each act. Errors are ignored: the error that led here was reported, and the next act must still run. */
export function quietly(...acts: readonly (() => void)[]): void {
  for (const act of acts) {
    try {
      act();
    } catch {}
  }
}
