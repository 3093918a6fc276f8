import { expect, test } from 'vitest';
import { BufferBudget } from '../../../../src/gateway/admission/buffer-budget.ts';

type Step = readonly [key: string, bytes: number, expected?: 'ok' | 'key' | 'all'];
const codes = { key: 'key_share_exceeded', all: 'gateway_busy' } as const;

// Of 1,000 bytes. Negative: given back.
const tables: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'one key alone can use three quarters, to the byte',
    [
      ['a', 750, 'ok'],
      ['a', 1, 'key'],
      ['a', -1],
      ['a', 1, 'ok'],
    ],
  ],
  [
    'a key that asks for all at once gets nothing, and holds nothing of it',
    [
      ['a', 751, 'key'],
      ['a', 1_000, 'key'],
      ['a', 750, 'ok'],
    ],
  ],
  [
    'the last quarter is for keys that hold less than an equal share',
    [
      ['a', 750, 'ok'],
      ['b', 100, 'ok'],
      ['c', 100, 'ok'],
      ['a', 1, 'key'],
      ['b', 40, 'ok'],
      ['d', 10, 'ok'],
      ['d', 1, 'all'],
    ],
  ],
  [
    'two keys that hold the same can take no more of it; a third can, up to the share',
    [
      ['a', 375, 'ok'],
      ['b', 375, 'ok'],
      ['a', 1, 'key'],
      ['b', 1, 'key'],
      ['c', 250, 'ok'],
      ['c', 1, 'all'],
    ],
  ],
  [
    'what one of many small holders wants beyond the share is refused for it alone',
    [
      ...Array.from({ length: 75 }, (_, n) => [`k${n}`, 10, 'ok'] as const),
      ['new', 10, 'ok'],
      ['new', 1, 'key'],
      ['other', 10, 'ok'],
      ['k0', 1, 'key'],
    ],
  ],
  [
    'what is given back counts at once, and a key that holds nothing is none of those that share',
    [
      ['a', 700, 'ok'],
      ['b', 200, 'ok'],
      ['a', -700],
      ['b', 550, 'ok'],
      ['b', 1, 'key'],
      ['a', 200, 'ok'],
      ['a', -200],
      ['b', 1, 'key'],
    ],
  ],
  [
    'nothing is taken and nothing given without harm',
    [
      ['a', 0, 'ok'],
      ['a', -0],
      ['b', 750, 'ok'],
    ],
  ],
];

test.each(tables)('%s', (_name, steps) => {
  const budget = new BufferBudget(1_000);
  let used = 0;
  for (const [at, [key, bytes, expected]] of steps.entries()) {
    const share = budget.of(key);
    if (expected === undefined) share.give(-bytes);
    else {
      const refused = share.take(bytes);
      expect(refused?.code, `step ${at}`).toBe(expected === 'ok' ? undefined : codes[expected]);
    }
    if (expected === undefined || expected === 'ok') used += bytes;
    expect(budget.used).toBe(used);
  }
});

test('a key that was refused is told so with 429, a full memory with 503; both say when to come again', () => {
  const budget = new BufferBudget(100);
  expect(budget.of('a').take(75)).toBeUndefined();
  expect(budget.of('a').take(1)?.entry).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    anthropicType: 'rate_limit_error',
    retryAfterSeconds: 1,
  });
  expect(budget.of('b').take(25)).toBeUndefined();
  expect(budget.of('c').take(1)?.entry).toMatchObject({ status: 503, retryAfterSeconds: 1 });
});

test('a key takes up to what it may have, and learns why that is not all', () => {
  const budget = new BufferBudget(1_000);
  const [a, b] = [budget.of('a'), budget.of('b')];
  expect(a.takeUpTo(100)).toEqual({ taken: 100, refused: undefined });
  expect(a.takeUpTo(1_000)).toMatchObject({ taken: 650, refused: { code: codes.key } });
  expect(a.takeUpTo(1)).toMatchObject({ taken: 0, refused: { code: codes.key } });
  expect(b.takeUpTo(1_000)).toMatchObject({ taken: 250, refused: { code: codes.all } });
  expect(budget.used).toBe(1_000);
});

test('whatever 200 keys do, the sum is exact, bounded, and a key without anything gets its first bytes while there is room', () => {
  const budget = new BufferBudget(10_000);
  const held = new Map<string, number>();
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let step = 0; step < 50_000; step++) {
    const key = `key ${random(200)}`;
    const share = budget.of(key);
    const own = held.get(key) ?? 0;
    if (random(2) === 0) {
      share.give(own);
      held.delete(key);
    } else {
      const bytes = random(900);
      if (share.take(bytes) === undefined && bytes > 0) held.set(key, own + bytes);
    }
    const sum = [...held.values()].reduce((all, each) => all + each, 0);
    expect(budget.used).toBe(sum);
    expect(sum).toBeLessThanOrEqual(10_000);
    expect(Math.max(0, ...held.values())).toBeLessThanOrEqual(7_500);
    if (sum === 10_000) continue;
    const fresh = budget.of('fresh');
    expect(fresh.take(1)).toBeUndefined();
    fresh.give(1);
  }
});
