import { expect, test } from 'vitest';
import { Contacts } from '../../../src/controller/upstream-node/contacts.ts';
import { type Question, SharedContacts } from '../../../src/controller/upstream-node/shared-contacts.ts';
import type { Answer } from '../../../src/controller/upstream-node/verdict.ts';
import { turn } from './fake-clock.ts';
import { failed, status } from './node-life.ts';

function setUp() {
  let nowMs = 1_000_000;
  const shared = new SharedContacts(new Contacts({ inAll: 1, perHost: 1 }, () => {}), () => nowMs);
  const asked: ((answer: Answer) => void)[] = [];
  const ask = (change: Partial<Question> = {}, signal = new AbortController().signal) =>
    shared.ask(
      {
        ...{ key: 'same', kind: 'check', urgency: 'Background', freshMs: 15_000 },
        place: { namespace: 'team', host: 'host' },
        ...change,
      },
      signal,
      (aborts) =>
        new Promise((resolve) => {
          asked.push(resolve);
          aborts.addEventListener('abort', () => resolve(undefined));
        }),
    );
  return { ask, asked, pass: (ms: number) => (nowMs += ms) };
}

test('nodes with the same question share one contact, and its answer for a while', async () => {
  const { ask, asked, pass } = setUp();
  const answers = [ask(), ask(), ask({ place: { namespace: 'other', host: 'host' } })];
  expect(asked).toHaveLength(1);
  asked[0]?.(status(200));
  const [first] = await Promise.all(answers);
  expect(await Promise.all(answers)).toEqual([first, first, first]);
  pass(15_000);
  expect(await ask()).toBe(first);
  pass(1);
  void ask();
  expect(asked).toHaveLength(2);
});

test('another credential is another question', () => {
  const { ask, asked } = setUp();
  void ask();
  void ask({ key: 'other', place: { namespace: 'other', host: 'another' } });
  asked[0]?.(status(200));
  return turn().then(() => expect(asked).toHaveLength(2));
});

test('who changed something gets an answer that began after the change', async () => {
  const { ask, asked } = setUp();
  const [before, after, also] = [ask(), ask({ urgency: 'Urgent' }), ask({ urgency: 'Urgent' })];
  asked[0]?.(status(500));
  await before;
  await turn();
  asked[1]?.(status(200));
  expect((await after)?.answer).toEqual(status(200));
  expect(await also).toBe(await after);
  expect(asked).toHaveLength(2);
});

test('it ends when the last one leaves, and is asked again if its connections went with the first', async () => {
  const { ask, asked } = setUp();
  const [one, two] = [new AbortController(), new AbortController()];
  const answers = [ask({}, one.signal), ask({}, two.signal)];
  one.abort();
  await turn();
  asked[0]?.(failed('reset'));
  expect(await Promise.all(answers)).toEqual([undefined, undefined]);
  const alone = ask({}, two.signal);
  two.abort();
  expect(await alone).toBeUndefined();
});
