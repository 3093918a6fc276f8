import { expect, test } from 'vitest';
import { measureAgents } from '../bench/sharing/agent-sessions.ts';

// The short form of `npm run bench -- --only affinity`, by the same code. Its goals are wider: fewer sessions are
// spread less evenly, 3 % of its requests are first turns, which are never hits, and other tests run beside it.
test('sessions of agents find their prefix caches, and a node that dies moves only its own', async () => {
  const figures = await measureAgents({ sessions: 100, turns: 30, placed: 1_000 });
  expect(figures.hits).toBeGreaterThan(0.8);
  expect(figures.hitsAtRandom).toBeLessThan(0.35);
  expect(figures.load).toBeLessThan(1.4);
  expect(figures.moved).toBeGreaterThan(0);
  expect(figures).toMatchObject({ movedOthers: 0, notBack: 0, differently: 0 });
  expect(figures.offShare).toBeLessThan(0.05);
}, 120_000);
