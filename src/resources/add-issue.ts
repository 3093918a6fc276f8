import type { z } from 'zod';

/** A value that a schema checks, with the issues found so far. */
export type Checked<T> = z.core.ParsePayload<T>;

/**
 * Adds an issue in a function passed to a schema's `check`. zod's `superRefine` can do this too, but it makes a new function
 * for each value, valid or not: reading a key took half as long again.
 */
export function addIssue(checked: Checked<unknown>, issue: Omit<z.core.$ZodRawIssue, 'input'>): void {
  checked.issues.push({ ...issue, input: checked.value, continue: true } as z.core.$ZodRawIssue);
}
