import type { Result } from '../bench/result.ts';
import type { Lab } from './lab.ts';
import type { SetSize } from './population.ts';

/** One group of measurements, run by itself with `--only`. */
export interface ScaleRow {
  readonly name: string;
  readonly run: (lab: Lab) => Promise<Result[]>;
}

/** What a row measures of each set; only the largest one is judged. */
export async function eachSize(
  lab: Lab,
  measure: (lab: Lab, size: SetSize, isLargest: boolean) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const size of lab.options.sizes) {
    results.push(...(await measure(lab, size, size === lab.options.sizes.at(-1))));
  }
  return results;
}

/** Put over a line: takes its goal away where it is not judged. */
export function judgedIf(isJudged: boolean): Partial<Result> {
  return isJudged ? {} : { goal: '', ok: undefined };
}

/** `1 000 keys` and the like: sizes in a table are read across. */
export function count(number: number, what: string): string {
  return `${number.toLocaleString('en-US')} ${what}`;
}
