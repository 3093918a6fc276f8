import type { Condition } from '../resources/conditions.ts';
import { ago } from './ago.ts';
import type { Shown } from './rows.ts';
import { plainCells, table } from './table.ts';

/** The conditions of an object as a table with a heading; empty if there are none. */
export function conditionsText(conditions: readonly Condition[] | undefined, { now, colour }: Shown): string {
  if (conditions === undefined || conditions.length === 0) return '';
  const rows = conditions.map(({ type, status, reason, lastTransitionTime, message }) =>
    plainCells(`  ${type}`, status, reason, ago(lastTransitionTime, now), message),
  );
  const head = plainCells('  TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE');
  return `Conditions:\n${table([head, ...rows], colour)}`;
}
