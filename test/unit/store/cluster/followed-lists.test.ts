import { expect, test } from 'vitest';
import { ApiError } from '../../../../src/kube/api-error.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { defaultPatience, FollowedLists } from '../../../../src/store/cluster/followed-lists.ts';
import { fakeClock } from '../../kube/fake-clock.ts';

function follow() {
  const clock = fakeClock();
  const lines: { level: string; msg: string; namespace?: string }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const lists = new FollowedLists({
    log: createLog({ level: 'info', format: 'json', role: 'test', destination }),
    clock,
    now: () => clock.wall().getTime(),
    patience: defaultPatience,
    signal: new AbortController().signal,
  });
  let isReady = false;
  void lists.ready.then(() => {
    isReady = true;
  });
  const told = () => lines.map(({ level, namespace, msg }) => `${level} ${namespace}: ${msg}`);
  return { clock, lists, told, ready: () => isReady };
}

const forbidden = new ApiError(403, 'Forbidden', 'secret text');
const broken = new ApiError(500, 'InternalError', 'secret text');
const away = new ApiError(0, 'Unreachable', 'secret text', {
  cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
});

test('names what is missing until it is in', async () => {
  const { lists, ready, clock } = follow();
  const nodes = lists.add('UpstreamNode', 'team', 'Resources');
  const keys = lists.add('APIKey', undefined, 'Resources');
  lists.add('Secret', 'team', 'Wakes');
  expect(lists.missing()).toBe('UpstreamNode in namespace team, APIKey in all namespaces');
  nodes.filled();
  expect(lists.missing()).toBe('APIKey in all namespaces');
  await clock.advance(0);
  expect(ready()).toBe(false);
  keys.filled();
  keys.restarts('error', broken);
  expect(lists.missing()).toBeUndefined();
  await clock.advance(0);
  expect(ready()).toBe(true);
});

test.each<[string, unknown, string]>([
  ['away', away, 'the API server gave no usable answer (Unreachable, ECONNREFUSED)'],
  [
    'forbidden',
    forbidden,
    'the API server answered 403 (Forbidden); grant the service account "get", "list" and "watch" on it',
  ],
  [
    'no CRDs',
    new ApiError(404, 'NotFound', 'secret text'),
    'the API server answered 404 (NotFound); apply the CRDs',
  ],
  ['a strange word', new ApiError(500, 'secret text\n', ''), 'the API server answered 500'],
  ['a fault of ours', new Error('secret text'), 'it failed unexpectedly; the log says how'],
])('says the last failure: %s', (_, error, text) => {
  const { lists } = follow();
  const list = lists.add('APIKey', 'team', 'Resources');
  expect(list.restarts('error', new ApiError(429, 'TooManyRequests', ''))).toBe(true);
  list.restarts('error', error);
  expect(lists.missing()).toBe(`APIKey in namespace team; last failure, of APIKey: ${text}`);
});

test('is short however many there are', () => {
  const { lists } = follow();
  for (let number = 0; number < 300; number += 1) lists.add('APIKey', `team-${number}`, 'Resources');
  expect(lists.missing()).toBe(
    'APIKey in namespace team-0, APIKey in namespace team-1, APIKey in namespace team-2, APIKey in namespace team-3 and 296 more',
  );
});

test.each([
  ['forbidden', forbidden, 2_000],
  ['error', broken, 30_000],
] as const)(
  'a namespace whose first list fails (%s) is given up while another works',
  async (reason, error, afterMs) => {
    const { lists, ready, clock, told } = follow();
    const home = lists.add('APIKey', 'home', 'Resources');
    const lost = lists.add('APIKey', 'lost', 'Resources');
    expect(lost.restarts(reason, error)).toBe(true);
    await clock.advance(afterMs);
    expect(lost.restarts(reason, error)).toBe(false);
    // Nothing works yet: this may be an outage.
    await clock.advance(0);
    expect(ready()).toBe(false);
    expect(told()).toEqual([]);
    home.filled();
    await clock.advance(0);
    expect(ready()).toBe(true);
    expect(told()).toEqual([
      'warn lost: A namespace cannot be read and is served as empty; the other namespaces are served',
    ]);
    expect(lists.remarks()).toEqual([
      expect.stringMatching(/^namespace lost is lost: APIKey: the API server/),
    ]);
    expect([...lists.standings()].map(({ namespace, isLost }) => [namespace, isLost])).toEqual([
      ['home', false],
      ['lost', true],
    ]);
    lost.filled();
    expect(lists.remarks()).toEqual([]);
    expect(told()[1]).toBe('info lost: A namespace that was lost is followed again');
  },
);

test('a lost namespace is reported with every kind that fails, and why', async () => {
  const { lists, clock } = follow();
  lists.add('APIKey', 'home', 'Resources').filled();
  const kinds = ['UpstreamNode', 'APIKey', 'MasterKey'] as const;
  const [nodes, keys, masters] = kinds.map((kind) => lists.add(kind, 'lost', 'Resources'));
  nodes?.restarts('forbidden', forbidden);
  keys?.restarts('forbidden', forbidden);
  masters?.restarts('error', broken);
  await clock.advance(30_000);
  expect(lists.remarks()).toEqual([
    expect.stringMatching(/^namespace lost is lost: UpstreamNode, APIKey: the API server.*; MasterKey: /),
  ]);
  nodes?.filled();
  expect(lists.remarks()).toEqual([expect.stringMatching(/^namespace lost is lost: APIKey: /)]);
});

test('a list that is slow but does not fail is waited for', async () => {
  const { lists, ready, clock } = follow();
  const home = lists.add('APIKey', 'home', 'Resources');
  lists.add('APIKey', 'slow', 'Resources');
  home.filled();
  await clock.advance(600_000);
  expect(ready()).toBe(false);
});

test('what is held is dropped after five minutes of refusals, and only while another namespace works', async () => {
  const { lists, clock } = follow();
  const home = lists.add('APIKey', 'home', 'Resources');
  const lost = lists.add('APIKey', 'lost', 'Resources');
  home.filled();
  lost.filled();
  const refuseFor = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 30_000) {
      lost.restarts('forbidden', forbidden);
      await clock.advance(30_000);
    }
    lost.restarts('forbidden', forbidden);
  };
  await refuseFor(270_000);
  expect(lost.mayBeDropped()).toBe(false);
  // It was let in meanwhile.
  lost.opened();
  await refuseFor(270_000);
  expect(lost.mayBeDropped()).toBe(false);
  home.restarts('error', away);
  await refuseFor(60_000);
  expect(lost.mayBeDropped()).toBe(false);
  home.received();
  expect(lost.mayBeDropped()).toBe(true);
  lost.dropped();
  expect(lost.mayBeDropped()).toBe(false);
  expect([...lists.standings()].map(({ isComplete }) => isComplete)).toEqual([true, false]);
});

test('failures that are not refusals never drop anything', async () => {
  const { lists, clock } = follow();
  lists.add('APIKey', 'home', 'Resources').filled();
  const lost = lists.add('APIKey', 'lost', 'Resources');
  lost.filled();
  for (let minute = 0; minute < 60; minute += 1) {
    lost.restarts('error', away);
    await clock.advance(60_000);
  }
  expect(lost.mayBeDropped()).toBe(false);
});

test('a watch that ends as it should is no failure', async () => {
  const { lists, clock } = follow();
  const list = lists.add('APIKey', 'home', 'Resources');
  list.filled();
  list.restarts('forbidden', forbidden);
  expect(list.restarts('closed', undefined)).toBe(false);
  await clock.advance(60_000);
  expect(lists.working()).toEqual(['home']);
});
