import { expect, test } from 'vitest';
import { isDemoted } from '../../../src/routing/demoted.ts';
import { checkedAtMs } from '../../../src/store/checked-at.ts';
import { makeNode } from './make.ts';

test('a status from the future is as old as its arrival, so that it becomes stale', () => {
  const arrivedMs = Date.UTC(2027, 0, 1);
  const inAnHour = new Date(arrivedMs + 3_600_000).toISOString();
  const resource = makeNode({}, { phase: 'error', lastHealthCheckTime: inAnHour });
  const node = { resource, checkedAtMs: checkedAtMs(resource, arrivedMs) };
  expect(node.checkedAtMs).toBe(arrivedMs);
  expect(isDemoted(node, arrivedMs + 15 * 60_000)).toBe(true);
  expect(isDemoted(node, arrivedMs + 15 * 60_000 + 1)).toBe(false);
});
