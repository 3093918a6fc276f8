import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { ByteBlocks } from '../../../src/upstream/byte-blocks.ts';

function bytes(length: number, seed: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (at * 7 + seed) & 0xff));
}

describe('what is put in comes out', () => {
  test.each([
    ['nothing', []],
    ['one piece', [5]],
    ['as many as are kept as they are', Array(16).fill(3)],
    ['one more', Array(17).fill(3)],
    ['empty pieces', Array(40).fill(0)],
    ['exactly one block', [...Array(16).fill(1), 65_536]],
    ['one byte over the block', [...Array(16).fill(1), 65_536, 1]],
    ['a piece over three blocks', [...Array(16).fill(1), 10, 200_000, 7]],
    ['many small ones', Array(70_000).fill(1)],
    ['large ones', Array(40).fill(50_000)],
  ])('%s', (_name, lengths: number[]) => {
    const blocks = new ByteBlocks();
    const pieces = lengths.map(bytes);
    for (const piece of pieces) blocks.add(piece);
    const expected = Buffer.concat(pieces);
    expect(blocks.size).toBe(expected.length);
    expect(blocks.take().equals(expected)).toBe(true);
    expect(blocks.size).toBe(0);
    expect(blocks.take().length).toBe(0);
  });
});

test('a single piece is not copied', () => {
  const blocks = new ByteBlocks();
  const piece = Buffer.from('all of it');
  blocks.add(piece);
  expect(blocks.take()).toBe(piece);
});

test('pieces of one byte cost about a byte each', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const blocks = new ByteBlocks();
  const before = held();
  for (let count = 0; count < 200_000; count++) blocks.add(Buffer.from([count & 0xff]));
  expect(held() - before).toBeLessThan(2_000_000);
  expect(blocks.size).toBe(200_000);
});
