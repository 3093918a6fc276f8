import { expect, test } from 'vitest';
import { type BatchedWriter, writeTogether } from '../../../src/upstream/write-batch.ts';

const immediate = () => new Promise((resolve) => setImmediate(resolve));

function writer(written: string[], name: string, then?: () => void): BatchedWriter {
  return {
    writeNow: () => {
      written.push(name);
      then?.();
    },
  };
}

test('all that is to be written goes out in order, once what has come is read', async () => {
  const written: string[] = [];
  for (const name of ['a', 'b', 'c']) writeTogether(writer(written, name));
  expect(written).toEqual([]);
  await Promise.resolve();
  expect(written).toEqual([]);
  await immediate();
  expect(written).toEqual(['a', 'b', 'c']);
});

test('the first of many does not wait for all of them', async () => {
  const written: string[] = [];
  for (let index = 0; index < 70; index++) writeTogether(writer(written, String(index)));
  expect(written).toHaveLength(64);
  await immediate();
  expect(written).toEqual(Array.from({ length: 70 }, (_, index) => String(index)));
});

test('what a write brings about is written, too', async () => {
  const written: string[] = [];
  writeTogether(writer(written, 'a', () => writeTogether(writer(written, 'b'))));
  await immediate();
  await immediate();
  expect(written).toEqual(['a', 'b']);
});
