import { expect } from 'vitest';

/** Fits a terminal of 80 columns and 24 lines, the prompt below included. */
export function expectScreen(text: string): void {
  expect(text.split('\n').length).toBeLessThanOrEqual(24);
  expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
}
