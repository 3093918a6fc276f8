import type { Condition } from '../resources/conditions.ts';
import { ago } from './ago.ts';
import { plainCells, table } from './table.ts';

/** The conditions of an object as a table with a heading; nothing where there are none. */
export function conditionsText(
  conditions: readonly Condition[] | undefined,
  { now, colour }: { readonly now: Date; readonly colour: boolean },
): string {
  if (conditions === undefined || conditions.length === 0) return '';
  const rows = conditions.map(({ type, status, reason, lastTransitionTime, message }) =>
    plainCells(`  ${type}`, status, reason, ago(lastTransitionTime, now), message),
  );
  const head = plainCells('  TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE');
  return `Conditions:\n${table([head, ...rows], colour)}`;
}
