import { describe, expect, test } from 'vitest';
import { fractionOf } from '../../../src/controller/spread.ts';
import { gather } from '../../../src/controller/upstream-node/gather.ts';
import { freshMemory } from '../../../src/controller/upstream-node/memory.ts';
import { plan } from '../../../src/controller/upstream-node/plan.ts';
import { resolveCredentials } from '../../../src/store/credentials.ts';
import type { NodeEntry } from '../../../src/store/store.ts';
import { birth, failed, listed, NodeLife, status } from './node-life.ts';
import { nodeOf } from './resources.ts';

const good = listed('m');
const secondsUntil = (life: NodeLife) => ((life.last?.nextDueMs ?? Number.NaN) - life.nowMs) / 1_000;

describe('schedules', () => {
  test('checks come every interval ±10 %, the first one earlier', () => {
    const life = new NodeLife({ healthCheck: { intervalSeconds: 100 } });
    life.plan();
    life.answer(good);
    const waits = Array.from({ length: 20 }, () => {
      const wait = secondsUntil(life);
      life.answer(status(200));
      return wait;
    });
    expect(waits[0]).toBeLessThanOrEqual(100);
    expect(waits[0]).toBeGreaterThanOrEqual(10);
    for (const wait of waits.slice(1)) {
      expect(wait).toBeGreaterThanOrEqual(90);
      expect(wait).toBeLessThanOrEqual(110);
    }
    expect(new Set(waits.map(Math.round)).size).toBeGreaterThan(5);
  });

  test('scheduled syncs come every sync interval ±10 %, and count as checks', () => {
    const life = new NodeLife({ sync: { intervalSeconds: 600 }, healthCheck: { mode: 'None' } });
    life.plan();
    life.answer(good);
    for (let times = 0; times < 10; times += 1) {
      expect(secondsUntil(life)).toBeGreaterThanOrEqual(540);
      expect(secondsUntil(life)).toBeLessThanOrEqual(661);
      expect(life.untilDue().contact).toMatchObject({ kind: 'sync', urgency: 'Background' });
      life.answer(good);
    }
    life.answer(failed('dns'));
    expect(life.phase).toBe('error');
  });

  test('mode None contacts a node for syncs alone', () => {
    const life = new NodeLife({ healthCheck: { mode: 'None' } });
    expect(life.plan().contact?.kind).toBe('sync');
    life.answer(good);
    expect(life.phase).toBe('ready');
    expect(secondsUntil(life)).toBeGreaterThan(3_000);
  });

  test('a failed sync without checks is tried again after 10 s doubling to 5 minutes', () => {
    const life = new NodeLife({ healthCheck: { mode: 'None' } });
    life.plan();
    const waits = Array.from({ length: 8 }, () => {
      life.answer(status(500));
      return secondsUntil(life);
    });
    for (const [index, wait] of waits.entries()) {
      const mean = Math.min(10 * 2 ** index, 300);
      expect(wait).toBeGreaterThanOrEqual(mean * 0.9);
      expect(wait).toBeLessThanOrEqual(mean * 1.1);
    }
  });

  test('an unreachable node is tried once in each check interval: each try counts against the threshold', () => {
    const life = new NodeLife({ healthCheck: { intervalSeconds: 60 } });
    life.plan();
    life.answer(failed('connect_refused'));
    life.answer(failed('connect_refused'));
    expect(secondsUntil(life)).toBeGreaterThanOrEqual(54);
  });

  test.each([
    ['404 without a manual list', status(404)],
    ['401', status(401)],
  ])('a node that stalls on %s is asked as often as it would be checked', (_, answer) => {
    const life = new NodeLife({ healthCheck: { intervalSeconds: 60 } });
    life.plan();
    life.answer(good);
    life.annotate('1');
    for (let times = 0; times < 5; times += 1) {
      life.answer(answer);
      expect(secondsUntil(life)).toBeGreaterThanOrEqual(54);
    }
  });

  test('404 without a manual list is tried again less and less where nothing is checked', () => {
    const life = new NodeLife({ healthCheck: { mode: 'None' } });
    life.plan();
    for (let times = 0; times < 8; times += 1) life.answer(status(404));
    expect(secondsUntil(life)).toBeGreaterThanOrEqual(270);
  });

  test('Retry-After puts the next contact off, at most 5 minutes', () => {
    const life = new NodeLife({ healthCheck: { intervalSeconds: 10 } });
    life.plan();
    life.answer(good);
    life.answer(status(429, 120));
    expect(secondsUntil(life)).toBe(120);
    life.answer(status(503, 10_000));
    expect(secondsUntil(life)).toBe(300);
    expect(life.annotate('now').contact?.kind).toBe('sync');
  });

  test('a check that finds nothing new is written every 5 minutes at most', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(good);
    const { writes } = life;
    const until = life.nowMs + 3_600_000;
    let checks = 0;
    while (life.nowMs < until - 600_000) {
      life.answer(life.untilDue().contact?.kind === 'sync' ? good : status(200));
      checks += 1;
    }
    expect(checks).toBeGreaterThan(40);
    expect(life.writes - writes).toBeLessThanOrEqual(11);
    expect(life.writes - writes).toBeGreaterThanOrEqual(7);
  });

  test('a sync that fails the same way again and again is written as seldom', () => {
    const life = new NodeLife();
    life.plan();
    for (let times = 0; times < 3; times += 1) life.answer(failed('dns'));
    const { writes } = life;
    for (let times = 0; times < 20; times += 1) life.answer(failed('dns'));
    expect(life.writes - writes).toBeLessThanOrEqual(5);
  });

  test('the same facts give the same plan', () => {
    const [a, b] = [new NodeLife(), new NodeLife()];
    for (const life of [a, b]) {
      life.plan();
      life.answer(good);
    }
    expect(a.last).toEqual(b.last);
  });
});

/** How many of 1,000 nodes are due in the fullest of 60 equal parts of `span`. */
function fullest(dues: readonly number[], startMs: number, spanMs: number): number {
  const parts = new Map<number, number>();
  for (const due of dues) {
    const part = Math.floor(((due - startMs) / spanMs) * 60);
    parts.set(part, (parts.get(part) ?? 0) + 1);
  }
  return Math.max(...parts.values());
}

/** A node whose last sync and check the status puts at this time, in milliseconds since 1970. */
function checkedAt(ms: number) {
  const time = new Date(ms).toISOString();
  return (node: ReturnType<typeof nodeOf>): ReturnType<typeof nodeOf> => ({
    ...node,
    status: {
      observedGeneration: 1,
      phase: 'ready',
      models: [],
      lastSyncTime: time,
      lastHealthCheckTime: time,
      syncedWith: { baseURL: node.spec.baseURL },
      conditions: [],
    },
  });
}

function thousand(
  change: (node: ReturnType<typeof nodeOf>) => ReturnType<typeof nodeOf>,
  contacted: boolean,
) {
  return Array.from({ length: 1_000 }, (_, index) => {
    const name = `node-${index}`;
    const created = new Date(birth).toISOString();
    const resource = change(nodeOf(name, {}, { uid: name, generation: 1, creationTimestamp: created }));
    const entry: NodeEntry = {
      id: `home/${name}`,
      resource,
      nativeFormats: new Set(),
      credentials: resolveCredentials(resource, () => undefined, undefined, undefined),
      checkedAtMs: 0,
    };
    const first = gather(
      entry,
      freshMemory(contacted ? birth : birth + 3_600_000),
      undefined,
      contacted ? birth : birth + 3_600_000,
    );
    const { connectionKey } = first;
    const contact = {
      kind: 'sync',
      answer: good,
      atMs: birth,
      connectionKey,
      syncRequest: undefined,
    } as const;
    return plan(contacted ? { ...first, contact } : first).nextDueMs ?? Number.NaN;
  });
}

describe('1,000 nodes are never in step', () => {
  test('made at one moment, their first checks are spread over the whole interval', () => {
    const dues = thousand((node) => node, true);
    expect(fullest(dues, birth, 60_000)).toBeLessThan(120);
    expect(Math.max(...dues) - birth).toBeLessThanOrEqual(60_000);
  });

  test('taken over at one moment with everything overdue, so are they', () => {
    const now = birth + 3_600_000;
    const dues = thousand(checkedAt(birth), false);
    expect(Math.min(...dues)).toBeGreaterThanOrEqual(now);
    expect(fullest(dues, now, 60_000)).toBeLessThan(60);
  });

  test('times from the future are taken for now', () => {
    const now = birth + 3_600_000;
    const dues = thousand(checkedAt(now + 3_600_000), false);
    expect(Math.min(...dues)).toBeGreaterThanOrEqual(now);
    expect(Math.max(...dues)).toBeLessThanOrEqual(now + 66_000);
  });

  test('the spread is even', () => {
    const counts = Array<number>(10).fill(0);
    for (let index = 0; index < 10_000; index += 1) {
      const part = Math.floor(fractionOf(`home/node-${index}`) * 10);
      counts[part] = (counts[part] ?? 0) + 1;
    }
    for (const count of counts) {
      expect(count).toBeGreaterThan(900);
      expect(count).toBeLessThan(1_100);
    }
  });
});
