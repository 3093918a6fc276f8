import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../src/upstream/connect.ts';
import { sharedLookup } from '../../../src/upstream/shared-lookup.ts';

/** Look-ups that the test answers. */
function setUp() {
  const clock = { ms: 0 };
  const asked: { name: string; answer: (error?: string) => void }[] = [];
  const lookup: Lookup = (name, _options, callback) => {
    asked.push({
      name,
      answer: (error) =>
        error === undefined
          ? callback(null, [{ address: '192.0.2.1', family: 4 }])
          : callback(Object.assign(new Error('x'), { code: error }), []),
    });
  };
  const shared = sharedLookup(lookup, () => clock.ms);
  const heard: string[] = [];
  const ask = (name: string, family = 0) =>
    shared(name, { all: true, family }, (error, addresses: LookupAddress[]) => {
      heard.push(`${name} ${error?.code ?? addresses.map(({ address }) => address).join()}`);
    });
  const names = () => asked.map(({ name }) => name);
  /** Answers the oldest look-up, after so long. */
  const answer = (ms = 0, error?: string) => {
    clock.ms += ms;
    asked.shift()?.answer(error);
  };
  return { ask, asked, names, answer, heard };
}

test('names that are looked up at the same time are looked up once, and again afterwards', () => {
  const { ask, names, answer, heard } = setUp();
  for (let i = 0; i < 500; i++) ask('a');
  ask('b');
  ask('a', 6);
  expect(names()).toEqual(['a', 'b', 'a']);
  answer();
  expect(heard).toEqual(Array.from({ length: 500 }, () => 'a 192.0.2.1'));
  ask('a');
  expect(names()).toEqual(['b', 'a', 'a']);
});

test('a failure is that of all who wait, and is not kept', () => {
  const { ask, names, answer, heard } = setUp();
  ask('a');
  ask('a');
  answer(0, 'ENOTFOUND');
  expect(heard).toEqual(['a ENOTFOUND', 'a ENOTFOUND']);
  ask('a');
  expect(names()).toEqual(['a']);
});

test('who asks again from within the answer gets a look-up of its own', () => {
  const asked: (() => void)[] = [];
  const shared = sharedLookup((_name, _options, callback) => void asked.push(() => callback(null, [])));
  let answers = 0;
  shared('a', { all: true }, () => {
    answers += 1;
    shared('a', { all: true }, () => {
      answers += 1;
    });
  });
  asked[0]?.();
  expect(answers).toBe(1);
  asked[1]?.();
  expect(answers).toBe(2);
});

describe('names that were slow the last time', () => {
  test('are looked up one after the other, and do not delay other names', () => {
    const { ask, names, answer, heard } = setUp();
    for (const name of ['s1', 's2', 's3']) ask(name);
    for (let i = 0; i < 3; i++) answer(1_001);
    heard.length = 0;
    for (const name of ['s1', 's2', 's3', 'fast', 's1']) ask(name);
    expect(names()).toEqual(['s1', 'fast']);
    answer(5_000);
    expect(names()).toEqual(['fast', 's2']);
    answer();
    answer(5_000);
    expect(names()).toEqual(['s3']);
    answer();
    expect(heard).toEqual(['s1 192.0.2.1', 's1 192.0.2.1', 'fast 192.0.2.1', 's2 192.0.2.1', 's3 192.0.2.1']);
  });

  test('are like others once they answer in time', () => {
    const { ask, names, answer } = setUp();
    for (const name of ['s1', 's2']) ask(name);
    answer(2_000, 'EAI_AGAIN');
    answer();
    ask('s1');
    answer(10);
    for (const name of ['s1', 's2']) ask(name);
    expect(names()).toEqual(['s1', 's2']);
  });
});
