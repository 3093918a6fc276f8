import type { Result } from './result.ts';

/** The results as aligned text, one line each. */
export function table(results: readonly Result[]): string {
  const lines = [
    ['measure', 'goal', 'measured', '', 'note'],
    ...results.map(({ measure, goal, measured, ok, note }) => {
      return [measure, goal, measured, ok === undefined ? '' : ok ? 'ok' : 'SHORT', note];
    }),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
