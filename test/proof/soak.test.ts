import { expect, test } from 'vitest';
import { standaloneGround } from '../soak/ground.ts';
import type { SoakOptions } from '../soak/options.ts';
import { soak } from '../soak/soak.ts';
import { judge } from '../soak/verdict.ts';

// The short form of `npm run soak`. So short a slope says nothing, and a busy machine's delays neither; what is left over
// when nothing is asked any more does.
const gib = 1024 * 1024 * 1024;
const options: SoakOptions = {
  ...{ seconds: 9, warmUpSeconds: 3, sampleSeconds: 1, thoroughEvery: 2, perSecond: 40, reloadMs: 300 },
  seed: 1,
  limits: {
    heapPerHour: 100 * gib,
    mostResident: 8 * gib,
    descriptorsPerHour: 1_000_000,
    moreHeap: gib,
    moreResident: gib,
    delayP99Ms: 10_000,
    moreObjects: 2_000,
    moreSeries: 500,
  },
};

test('a mixed load is answered right and leaves nothing behind', { timeout: 150_000 }, async () => {
  await using ground = await standaloneGround();
  const record = await soak(ground, options, () => {});
  expect([...record.load.failures, ...record.reloads.failures, ...record.errors]).toEqual([]);
  expect(judge(record, options).filter(({ ok }) => !ok)).toEqual([]);
});
