import type { Seen } from './play-fault.ts';

/** The table as text: a line of figures for each fault, and below it what is promised and what was seen. */
export function table(all: readonly Seen[]): string {
  const heads = ['fault', 'section', 'honest requests', 'failed', 'recovered', 'verdict'];
  const rows = all.map((each) => [
    each.id,
    each.section,
    each.honest.sent === 0 ? '–' : String(each.honest.sent),
    each.honest.sent === 0 ? '–' : String(each.honest.failed),
    each.recoveredMs === undefined ? '–' : milliseconds(each.recoveredMs),
    each.differs.length === 0 ? 'as promised' : 'DIFFERS',
  ]);
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const lines = [line(heads)];
  let group = '';
  for (const [index, each] of all.entries()) {
    if (each.group !== group) lines.push('', `${each.group}`);
    ({ group } = each);
    lines.push(line(rows[index] ?? []), `  promised: ${each.promise}`, `  seen:     ${each.seen}`);
    for (const differs of each.differs) lines.push(`  DIFFERS:  ${differs}`);
  }
  return lines.join('\n');
}

function milliseconds(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
