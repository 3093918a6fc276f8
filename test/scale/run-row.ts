import type { Result } from '../bench/result.ts';
import type { Lab } from './lab.ts';
import type { ScaleRow } from './row.ts';

/** Runs a row. One that cannot be measured is short, and the others are measured all the same. */
export async function runRow(row: ScaleRow, lab: Lab): Promise<Result[]> {
  try {
    return await row.run(lab);
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    lab.progress(`${row.name} failed: ${note}`);
    const [firstLine = ''] = note.split('\n', 1);
    const failed = { row: row.name, measure: row.name, goal: '', measured: 'failed', ok: false };
    return [{ ...failed, note: firstLine, figures: {} }];
  }
}
