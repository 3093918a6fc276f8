import { expect, test } from 'vitest';
import { Queue, type QueueObserver } from '../../../src/controller/queue.ts';
import { fakeClock, turn } from './fake-clock.ts';

function setUp() {
  const clock = fakeClock();
  const seen = { added: 0, retried: 0, depth: 0, waited: [] as number[], worked: [] as number[] };
  const observer: QueueObserver = {
    added: () => {
      seen.added += 1;
    },
    retried: () => {
      seen.retried += 1;
    },
    depth: (keys) => {
      seen.depth = keys;
    },
    waited: (seconds) => seen.waited.push(seconds),
    worked: (seconds) => seen.worked.push(seconds),
  };
  const queue = new Queue(clock, observer);
  /** The keys that can be taken now, given back at once. */
  const drain = async () => {
    const keys: string[] = [];
    while (seen.depth > 0) {
      const key = await queue.take();
      if (key === undefined) break;
      keys.push(key);
      queue.done(key);
    }
    return keys;
  };
  return { clock, queue, seen, drain };
}

test('retries and schedules are not starved by changes that never end', async () => {
  const { queue } = setUp();
  queue.add('waits', 'Background');
  const taken: (string | undefined)[] = [];
  for (let number = 0; number < 20; number += 1) {
    queue.add(`urgent-${number}`, 'Urgent');
    const id = await queue.take();
    taken.push(id);
    queue.done(id ?? '');
  }
  expect(taken.indexOf('waits')).toBe(8);
  expect(taken.filter((id) => id !== 'waits')).toEqual(
    Array.from({ length: 19 }, (_, number) => `urgent-${number}`),
  );
});

test('a key waits once however often it is added', async () => {
  const { queue, drain, seen } = setUp();
  queue.add('a', 'Urgent');
  queue.add('b', 'Urgent');
  queue.add('a', 'Urgent');
  expect(seen).toMatchObject({ added: 3, depth: 2 });
  expect(await drain()).toEqual(['a', 'b']);
});

test('urgent keys come before background ones, and a background key that becomes urgent moves forward, once', async () => {
  const { queue, drain } = setUp();
  for (const key of ['a', 'b', 'c']) queue.add(key, 'Background');
  queue.add('x', 'Urgent');
  queue.add('c', 'Urgent');
  queue.add('x', 'Background');
  expect(await drain()).toEqual(['x', 'c', 'a', 'b']);
  queue.add('c', 'Background');
  expect(await drain()).toEqual(['c']);
});

test('a key is never worked on twice at a time; added meanwhile, it comes again once, as urgent as it was added', async () => {
  const { queue, seen } = setUp();
  queue.add('a', 'Urgent');
  expect(await queue.take()).toBe('a');
  queue.add('a', 'Urgent');
  queue.add('a', 'Background');
  expect(seen.depth).toBe(0);
  queue.add('b', 'Background');
  queue.done('a');
  expect(await queue.take()).toBe('a');
  queue.done('a');
  expect(await queue.take()).toBe('b');
  queue.done('b');
  expect(seen.depth).toBe(0);
});

test('failures are put off for 1 s doubling to 5 minutes, until forgiven', async () => {
  const { clock, queue, drain } = setUp();
  const waits: number[] = [];
  for (let times = 0; times < 11; times += 1) {
    queue.retry('a');
    const [timer] = clock.timers;
    const wait = (timer?.atMs ?? 0) - clock.now();
    waits.push(wait / 1_000);
    await clock.advance(wait - 1);
    expect(await drain()).toEqual([]);
    await clock.advance(1);
    expect(await drain()).toEqual(['a']);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  queue.forgive('a');
  queue.retry('a');
  expect([...clock.timers][0]?.atMs).toBe(clock.now() + 1_000);
  queue.forgive('b');
  queue.retry('b', 7_000);
  expect([...clock.timers].at(-1)?.atMs).toBe(clock.now() + 7_000);
});

test('a key put off keeps its earliest time, and being worked on cancels it', async () => {
  const { clock, queue, drain } = setUp();
  queue.addAfter('a', 5_000);
  queue.addAfter('a', 9_000);
  queue.addAfter('a', 2_000);
  expect(clock.timers.size).toBe(1);
  await clock.advance(2_000);
  expect(await drain()).toEqual(['a']);
  queue.addAfter('a', 1_000);
  queue.add('a', 'Urgent');
  expect(await drain()).toEqual(['a']);
  expect(clock.timers.size).toBe(0);
});

test('takers wait in their order, and a closed queue lets all of them go', async () => {
  const { clock, queue } = setUp();
  const taken: (string | undefined)[] = [];
  for (let index = 0; index < 3; index += 1) void queue.take().then((key) => taken.push(key));
  queue.add('a', 'Background');
  queue.add('b', 'Background');
  await turn();
  expect(taken).toEqual(['a', 'b']);
  queue.addAfter('c', 1_000);
  queue.close();
  await turn();
  expect(taken).toEqual(['a', 'b', undefined]);
  expect(await queue.take()).toBeUndefined();
  queue.add('d', 'Urgent');
  queue.done('a');
  expect(await queue.take()).toBeUndefined();
  expect(clock.timers.size).toBe(0);
});

test('it tells how long keys waited and were worked on', async () => {
  const { clock, queue, seen } = setUp();
  queue.add('a', 'Urgent');
  await clock.advance(2_000);
  await queue.take();
  expect([...queue.startTimes()]).toEqual([clock.now()]);
  await clock.advance(3_000);
  queue.done('a');
  expect(seen).toMatchObject({ waited: [2], worked: [3] });
});

test('100,000 keys pass in linear time', async () => {
  const { queue, drain } = setUp();
  const started = performance.now();
  for (let index = 0; index < 100_000; index += 1) queue.add(`key-${index}`, 'Background');
  expect(await drain()).toHaveLength(100_000);
  expect(performance.now() - started).toBeLessThan(2_000);
});
