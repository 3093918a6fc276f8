import { expect, test } from 'vitest';
import { FairQueue } from '../../../../src/gateway/attempt/fair-queue.ts';

test('keys take turns, and what one key has waiting keeps its order', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item, item.charAt(0), 'Normal');
  expect(queue.size).toBe(6);
  expect(queue.takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(queue.size).toBe(0);
  expect(queue.take()).toBeUndefined();
});

test('a higher priority comes first', () => {
  const queue = new FairQueue<string>();
  queue.add('low', 'a', 'Low');
  queue.add('normal', 'b', 'Normal');
  queue.add('high', 'c', 'High');
  expect(queue.takeAll()).toEqual(['high', 'normal', 'low']);
});

test('a key that was served comes after a key that comes now', () => {
  const queue = new FairQueue<string>();
  for (let at = 0; at < 1_000; at++) queue.add(`batch-${at}`, 'batch', 'Normal');
  expect(queue.take()).toBe('batch-0');
  queue.add('now', 'person', 'Normal');
  expect([queue.take(), queue.take(), queue.take()]).toEqual(['batch-1', 'now', 'batch-2']);
});

test('what leaves frees its place, once', () => {
  const queue = new FairQueue<string>();
  queue.add('a', 'k', 'Normal');
  queue.add('b', 'k', 'Normal');
  queue.remove('a', 'k', 'Normal');
  queue.remove('a', 'k', 'Normal');
  queue.remove('b', 'other', 'Normal');
  expect(queue.size).toBe(1);
  expect(queue.take()).toBe('b');
  queue.remove('b', 'k', 'Normal');
  expect(queue.size).toBe(0);
});

test('one key gets three quarters of the places, and others an equal share of the rest', () => {
  const queue = new FairQueue<number>();
  const fill = (key: string): number => {
    let added = 0;
    while (queue.mayAdd(key, 100)) {
      queue.add(Math.random(), key, 'Normal');
      added += 1;
    }
    return added;
  };
  expect(fill('batch')).toBe(75);
  expect(fill('other')).toBe(25);
  expect(queue.mayAdd('third', 100)).toBe(false);
  for (let at = 0; at < 20; at++) queue.take();
  expect(queue.mayAdd('batch', 100)).toBe(false);
  expect(queue.mayAdd('third', 100)).toBe(true);
  expect(new FairQueue().mayAdd('any', 1)).toBe(true);
  expect(new FairQueue().mayAdd('any', 0)).toBe(false);
});
