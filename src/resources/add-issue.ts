import type { z } from 'zod';

/** A value that a schema checks, with what was found wrong with it so far. */
export type Checked<T> = z.core.ParsePayload<T>;

/**
 * Notes what is wrong with a value, for a function given to a schema's `check`. zod's own `superRefine` would do it too, but gives
 * each value, right or wrong, a function of its own first: to read and check a key took half as long again.
 */
export function addIssue(checked: Checked<unknown>, issue: Omit<z.core.$ZodRawIssue, 'input'>): void {
  checked.issues.push({ ...issue, input: checked.value, continue: true } as z.core.$ZodRawIssue);
}
