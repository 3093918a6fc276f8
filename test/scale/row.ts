import type { Result } from '../bench/result.ts';
import type { Lab } from './lab.ts';

/** One group of measurements, run by itself with `--only`. */
export interface ScaleRow {
  readonly name: string;
  readonly run: (lab: Lab) => Promise<Result[]>;
}

/** `1 000 keys` and the like: sizes in a table are read across. */
export function count(number: number, what: string): string {
  return `${number.toLocaleString('en-US')} ${what}`;
}
