import { expect, test } from 'vitest';
import type { FuzzReport } from '../fuzz/fuzz-report.ts';
import { runTargets, targetNames } from '../fuzz/targets.ts';

// The short form of `npm run fuzz`, with a seed that stays: it finds what was broken again, not what was never tried. How much slower an honest caller
// is not asked: other tests run beside.
const slowness = { blocks: 1, windowMs: 250, most: 100 };
const options = { runs: 600, seed: 1, slowness, patient: 0, limitMs: 20_000, tell: () => {} };

// Ten times as many cases: every member of everything that may come in, with some of the hostile values.
const typesRuns = 2_000;

test.each(targetNames)('%s: nothing is found', { timeout: 150_000 }, async (target) => {
  const reports: FuzzReport[] = [];
  const runs = target === 'types' ? typesRuns : options.runs;
  for await (const report of runTargets({ ...options, runs }, [target])) {
    reports.push(report);
  }
  expect(reports.flatMap(({ findings }) => findings)).toEqual([]);
  expect(reports.map(({ runs }) => runs > 0)).toEqual([true]);
});
