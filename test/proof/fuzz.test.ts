import { expect, test } from 'vitest';
import type { FuzzReport } from '../fuzz/fuzz-report.ts';
import { runTargets, targetNames } from '../fuzz/targets.ts';

// The short form of `npm run fuzz`, with a seed that stays: it finds what was broken again, not what was never tried.
test.each(targetNames)('%s: nothing is found', { timeout: 150_000 }, async (target) => {
  const reports: FuzzReport[] = [];
  for await (const report of runTargets({ runs: 600, seed: 1, compareMs: 500, limitMs: 20_000 }, [target])) {
    reports.push(report);
  }
  expect(reports.flatMap(({ findings }) => findings)).toEqual([]);
  expect(reports.map(({ runs }) => runs > 0)).toEqual([true]);
});
