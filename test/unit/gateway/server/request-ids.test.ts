import { randomFillSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { requestIds } from '../../../../src/gateway/server/request-ids.ts';

const hexOf = (id: string): string => id.slice('req_'.length);

test('are 128 random bits each, no two alike', () => {
  const next = requestIds(randomFillSync);
  const ids = Array.from({ length: 20_000 }, next);
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
  expect(new Set(ids).size).toBe(ids.length);
});

test('are made of every byte of the randomness once, in order', () => {
  let filled = 0;
  const next = requestIds((bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = (filled++ >> 4) & 0xff;
  });
  const seen = Array.from({ length: 1_000 }, () => hexOf(next()));
  expect(seen).toEqual(seen.map((_, i) => (i & 0xff).toString(16).padStart(2, '0').repeat(16)));
});

test('say nothing of each other: half of the bits differ from one to the next, at either end', () => {
  const next = requestIds(randomFillSync);
  const ids = Array.from({ length: 2_001 }, () => BigInt(`0x${hexOf(next())}`));
  const changes = new Array<number>(128).fill(0);
  for (let i = 1; i < ids.length; i++) {
    const changed = (ids[i] ?? 0n) ^ (ids[i - 1] ?? 0n);
    for (let bit = 0; bit < 128; bit++)
      changes[bit] = (changes[bit] ?? 0) + Number((changed >> BigInt(bit)) & 1n);
  }
  // 1,000 expected with a deviation of 22: outside of this once in 10^15 runs.
  for (const count of changes) {
    expect(count).toBeGreaterThan(800);
    expect(count).toBeLessThan(1_200);
  }
});
