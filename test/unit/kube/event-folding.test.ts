import { expect, test } from 'vitest';
import { foldRepeats } from '../../../src/kube/event-folding.ts';
import { fakeClock } from './fake-clock.ts';

test('remembers a thousand things and forgets the one repeated longest ago', () => {
  const folds = foldRepeats(fakeClock());
  for (let n = 0; n < 1_000; n += 1) folds.add([n]);
  expect(folds.add([0]).count).toBe(2);
  folds.add(['one more']);
  expect(folds.size()).toBe(1_000);
  expect(folds.add([0]).count).toBe(3);
  expect(folds.add([1]).count).toBe(1);
});

test('begins anew ten minutes after the last repetition', async () => {
  const clock = fakeClock();
  const folds = foldRepeats(clock);
  folds.add(['a']);
  await clock.advance(599_999);
  expect(folds.add(['a']).count).toBe(2);
  await clock.advance(600_000);
  expect(folds.add(['a']).count).toBe(1);
});
