import { expect, test } from 'vitest';
import { Contacts } from '../../../src/controller/upstream-node/contacts.ts';
import { turn } from './fake-clock.ts';

function setUp(most: number) {
  const counts: number[] = [];
  const contacts = new Contacts(most, (count) => counts.push(count));
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const never = new AbortController().signal;
  const add = (name: string, urgency: 'Urgent' | 'Background' = 'Background', signal = never) =>
    contacts.add(name.split(' ')[0] ?? '', urgency, signal, () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await turn();
  };
  return { add, end, started, counts };
}

test('one at a time for each host, and so many in all', async () => {
  const { add, end, started, counts } = setUp(2);
  for (const name of ['a 1', 'a 2', 'b 1', 'c 1']) add(name);
  expect(started).toEqual(['a 1', 'b 1']);
  await end('b 1');
  expect(started).toEqual(['a 1', 'b 1', 'c 1']);
  await end('c 1');
  expect(started).toHaveLength(3);
  await end('a 1');
  expect(started).toEqual(['a 1', 'b 1', 'c 1', 'a 2']);
  await end('a 2');
  expect(Math.max(...counts)).toBe(2);
  expect(counts.at(-1)).toBe(0);
});

test('hosts take turns, and urgent contacts come first within one', async () => {
  const { add, end, started } = setUp(1);
  add('a 1');
  for (const name of ['a 2', 'a 3', 'b 1', 'b 2']) add(name);
  add('a urgent', 'Urgent');
  for (let index = 0; index < 6; index += 1) await end(started.at(-1) ?? '');
  expect(started).toEqual(['a 1', 'b 1', 'a urgent', 'b 2', 'a 2', 'a 3']);
});

test('what was called off while it waited is never started', async () => {
  const { add, end, started } = setUp(1);
  const off = new AbortController();
  add('a 1');
  add('a 2', 'Background', off.signal);
  add('b 1', 'Background', off.signal);
  add('c 1');
  off.abort();
  await end('a 1');
  expect(started).toEqual(['a 1', 'c 1']);
  await end('c 1');
  add('a 3');
  expect(started.at(-1)).toBe('a 3');
});
