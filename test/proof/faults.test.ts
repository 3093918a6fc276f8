import { afterAll, expect, test } from 'vitest';
import { allFaults } from '../faults/all-faults.ts';
import { missing } from '../faults/needs.ts';
import { openTheatre } from '../faults/play-fault.ts';

// The quick ones of `npm run faults`, which has them all (test/faults/README.md).
const theatre = openTheatre({ long: false });
afterAll(() => theatre[Symbol.asyncDispose]());

const short = allFaults.filter((fault) => fault.form === 'short');

test.for(short)('$id: $promise', async (fault, { skip }) => {
  const lacks = missing(fault);
  if (lacks !== undefined) skip(`this machine lacks ${lacks}`);
  const { differs, honest } = await theatre.play(fault);
  expect(differs).toEqual([]);
  expect(honest.sent).toBeGreaterThan(0);
});
