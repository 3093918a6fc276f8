import { expect, test } from 'vitest';
import { measureFullNode } from '../bench/sharing/full-node.ts';

// The short form of `npm run bench -- --only concurrency`, by the same code. Its goals of speed are wider: other tests run beside it.
test('a node gets no more than its slots, nothing is refused, and a batch does not keep another key waiting', async () => {
  const figures = await measureFullNode({ callers: 50, turns: 4, batch: 300, interactive: 40 });
  expect(figures).toMatchObject({ most: 4, refused: 0 });
  expect(figures.throughput).toBeGreaterThan(0.6);
  expect(figures.wait).toBeLessThan(10);
}, 120_000);
