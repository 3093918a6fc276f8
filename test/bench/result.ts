import type { Lab } from './lab.ts';

/** One line of the table. */
export interface Result {
  row: string;
  measure: string;
  goal: string;
  measured: string;
  /** Undefined where there is no goal to meet. */
  ok: boolean | undefined;
  note: string;
  /** The figures behind it, for the JSON. */
  figures: Readonly<Record<string, unknown>>;
}

/** One group of measurements, run by itself with `--only`. */
export interface Row {
  name: string;
  run: (lab: Lab) => Promise<Result[]>;
}

/** A line for a goal "at least", of a ratio. */
export function atLeast(goal: number, value: number): Pick<Result, 'goal' | 'measured' | 'ok'> {
  return { goal: `≥ ${goal.toFixed(2)}`, measured: value.toFixed(2), ok: value >= goal };
}

/** A line for a goal "below", in a unit. */
export function below(goal: number, value: number, unit: string): Pick<Result, 'goal' | 'measured' | 'ok'> {
  const digits = value < 100 ? 2 : 0;
  return { goal: `< ${goal} ${unit}`, measured: `${value.toFixed(digits)} ${unit}`, ok: value < goal };
}
