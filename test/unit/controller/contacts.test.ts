import { describe, expect, test } from 'vitest';
import { type ContactLimits, Contacts } from '../../../src/controller/upstream-node/contacts.ts';
import { turn } from './fake-clock.ts';

/** Contacts by names such as `team host 1`. */
function setUp(limits: ContactLimits) {
  const counts: number[] = [];
  const contacts = new Contacts(limits, (count) => counts.push(count));
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const never = new AbortController().signal;
  const add = (name: string, urgency: 'Urgent' | 'Background' = 'Background', signal = never) => {
    const [namespace = '', host = ''] = name.split(' ');
    contacts.add({ namespace, host }, urgency, signal, () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await turn();
  };
  return { add, end, started, counts };
}

describe('one namespace', () => {
  test('a quarter of the contacts with a host, and so many in all', async () => {
    const { add, end, started, counts } = setUp({ inAll: 3, perHost: 8 });
    for (const name of ['t a 1', 't a 2', 't a 3', 't b 1', 't c 1']) add(name);
    expect(started).toEqual(['t a 1', 't a 2', 't b 1']);
    await end('t b 1');
    expect(started.at(-1)).toBe('t c 1');
    await end('t c 1');
    expect(started).toHaveLength(4);
    await end('t a 1');
    expect(started.at(-1)).toBe('t a 3');
    for (const name of ['t a 2', 't a 3']) await end(name);
    expect(Math.max(...counts)).toBe(3);
    expect(counts.at(-1)).toBe(0);
  });

  test('hosts take turns, and urgent contacts come first within one', async () => {
    const { add, end, started } = setUp({ inAll: 1, perHost: 1 });
    add('t a 1');
    for (const name of ['t a 2', 't a 3', 't b 1', 't b 2']) add(name);
    add('t a urgent', 'Urgent');
    for (let index = 0; index < 6; index += 1) await end(started.at(-1) ?? '');
    expect(started).toEqual(['t a 1', 't b 1', 't a urgent', 't b 2', 't a 2', 't a 3']);
  });

  test('what was cancelled while it waited is never started', async () => {
    const { add, end, started } = setUp({ inAll: 1, perHost: 1 });
    const off = new AbortController();
    add('t a 1');
    add('t a 2', 'Background', off.signal);
    add('t b 1', 'Background', off.signal);
    add('t c 1');
    off.abort();
    await end('t a 1');
    expect(started).toEqual(['t a 1', 't c 1']);
    await end('t c 1');
    add('t a 3');
    expect(started.at(-1)).toBe('t a 3');
  });
});

describe('several namespaces', () => {
  test('one host is shared by them: those with the fewest contacts under way come first', async () => {
    const { add, end, started } = setUp({ inAll: 32, perHost: 4 });
    for (let index = 0; index < 9; index += 1) add(`hanging host ${index}`);
    expect(started).toEqual(['hanging host 0']);
    for (const team of ['b', 'c', 'd', 'e']) for (const index of [0, 1]) add(`${team} host ${index}`);
    expect(started.slice(1)).toEqual(['b host 0', 'c host 0', 'd host 0']);
    await end('c host 0');
    expect(started.at(-1)).toBe('e host 0');
    // The one that hangs keeps its share and no more.
    for (const name of ['b host 0', 'd host 0', 'e host 0']) await end(name);
    const others = started.filter((name) => !name.startsWith('hanging'));
    expect(others).toHaveLength(7);
    expect(started.filter((name) => name.startsWith('hanging'))).toHaveLength(1);
  });

  test('hundreds of hanging hosts of one leave places to the others as they become free', async () => {
    const { add, end, started } = setUp({ inAll: 4, perHost: 4 });
    for (let index = 0; index < 100; index += 1) add(`greedy host-${index} 0`);
    for (let index = 0; index < 3; index += 1) add(`modest host ${index}`);
    for (const name of started.slice(0, 3)) await end(name);
    expect(started.slice(4)).toEqual(['modest host 0', 'greedy host-4 0', 'greedy host-5 0']);
    await end('modest host 0');
    expect(started.at(-1)).toBe('modest host 1');
  });
});
