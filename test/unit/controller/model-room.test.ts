import { expect, test } from 'vitest';
import { modelRoom } from '../../../src/controller/upstream-node/model-room.ts';
import { nodeOf } from './resources.ts';

const many = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `${index}`.padEnd(length, 'm'));

test.each([
  ['a small spec leaves all of it', {}, 640],
  ['a large one leaves less', { manualModels: many(1_000, 512) }, 1_408 - (2 * 512_000) / 1_024 - 12],
  [
    'some is always left',
    { manualModels: many(1_000, 512), models: many(900, 512).map((name) => ({ name })) },
    16,
  ],
])('%s', (_, spec, kibibytes) => {
  const room = modelRoom(nodeOf('n', spec)) / 1_024;
  expect(Math.abs(room - kibibytes)).toBeLessThan(8);
});
