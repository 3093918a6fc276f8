import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/controller/upstream-node/verdict.ts';
import { conditionOf } from '../../../src/resources/condition-of.ts';
import { flags } from '../../../src/roles/flags.ts';
import { failed, invalid, listed, NodeLife, status } from './node-life.ts';

const refused = failed('connect_refused');
const ours = failed('local');
const good = listed('m');

describe('phases', () => {
  const isGood = 'True Healthy';
  const isNew = 'Unknown NotChecked';
  const refuses = 'False AuthenticationFailed';
  const isDown = 'False UpstreamUnreachable';
  const fails = 'False UpstreamError';
  const isSetUp = 'True Configured';
  const rows: [
    what: string,
    answers: Answer[],
    phase: string,
    ready: string,
    reachable: string,
    progress: string | undefined,
  ][] = [
    ['never contacted', [], 'idle', isNew, isNew, 'Reconciling'],
    ['a good sync', [good], 'ready', isSetUp, isGood, undefined],
    ['a good check', [good, status(200)], 'ready', isSetUp, isGood, undefined],
    ['a sync without models', [listed()], 'idle', 'False NoModels', isGood, 'Stalled'],
    ['401 at the sync', [status(401)], 'error', refuses, refuses, 'Stalled'],
    ['403 at the sync', [status(403)], 'error', refuses, refuses, 'Stalled'],
    ['500 at the sync', [status(500)], 'error', fails, fails, 'Reconciling'],
    [
      '400 at the sync is no listing',
      [status(400)],
      'error',
      'False InvalidModelList',
      'False InvalidModelList',
      'Stalled',
    ],
    [
      'a redirect at the sync',
      [status(302)],
      'error',
      'False InvalidModelList',
      'False InvalidModelList',
      'Stalled',
    ],
    [
      'a web page at the sync',
      [invalid],
      'error',
      'False InvalidModelList',
      'False InvalidModelList',
      'Stalled',
    ],
    ['404 at the sync without a manual list', [status(404)], 'idle', 'False NoModels', isGood, 'Stalled'],
    ['404 after an unreachable one', [refused, status(404)], 'idle', 'False NoModels', isGood, 'Stalled'],
    ['429 at the first sync', [status(429)], 'idle', fails, isNew, 'Reconciling'],
    ['TLS at the sync', [failed('tls')], 'error', 'False TLSFailed', 'False TLSFailed', 'Stalled'],
    [
      'a forbidden address',
      [failed('forbidden_address')],
      'error',
      'False AddressForbidden',
      'False AddressForbidden',
      'Stalled',
    ],
    ['refused once', [refused], 'error', isDown, isDown, 'Reconciling'],
    ['no such host once', [failed('dns')], 'error', isDown, isDown, 'Reconciling'],
    [
      'no answer once',
      [failed('total_timeout')],
      'error',
      'False UpstreamTimeout',
      'False UpstreamTimeout',
      'Reconciling',
    ],
    ['refused twice', [good, refused, refused], 'error', isSetUp, isDown, undefined],
    ['refused three times', [good, refused, refused, refused], 'offline', isSetUp, isDown, undefined],
    [
      'three times, never in a row',
      [good, refused, refused, status(500), refused],
      'error',
      isSetUp,
      isDown,
      undefined,
    ],
    [
      '429 between does not count',
      [good, refused, refused, status(429), refused],
      'offline',
      isSetUp,
      isDown,
      undefined,
    ],
    ['from the first sync on', [refused, refused, refused], 'offline', isDown, isDown, 'Reconciling'],
    ['500 after offline', [good, refused, refused, refused, status(500)], 'error', isSetUp, fails, undefined],
    [
      'good after offline',
      [good, refused, refused, refused, status(200)],
      'ready',
      isSetUp,
      isGood,
      undefined,
    ],
    ['401 at a check', [good, status(401)], 'error', refuses, refuses, 'Stalled'],
    ['403 at a check', [good, status(403)], 'error', refuses, refuses, 'Stalled'],
    ['an outage after a 401', [good, status(401), status(503)], 'error', refuses, fails, 'Stalled'],
    ['a good check after a 401', [good, status(401), status(200)], 'ready', isSetUp, isGood, undefined],
    ['503 at a check', [good, status(503)], 'error', isSetUp, fails, undefined],
    ['a shortage of our own at a check', [good, ours, ours, ours, ours], 'ready', isSetUp, isGood, undefined],
    ['429 at a check', [good, status(429)], 'ready', isSetUp, isGood, undefined],
    ['429 after an error', [good, status(500), status(429)], 'error', isSetUp, fails, undefined],
    ['404 at a check', [good, status(404)], 'ready', isSetUp, isGood, undefined],
    ['405 at a check', [good, status(405)], 'ready', isSetUp, isGood, undefined],
    ['301 at a check', [good, status(301)], 'ready', isSetUp, isGood, undefined],
    ['TLS at a check', [good, failed('tls')], 'error', isSetUp, 'False TLSFailed', undefined],
    ['reset at a check', [good, failed('reset')], 'error', isSetUp, isDown, undefined],
    [
      'another address at a check',
      [good, failed('forbidden_address')],
      'error',
      'False AddressForbidden',
      'False AddressForbidden',
      'Stalled',
    ],
    ['good after an error', [good, status(500), status(200)], 'ready', isSetUp, isGood, undefined],
    ['a sync that succeeds after one that failed', [status(500), good], 'ready', isSetUp, isGood, undefined],
  ];
  test.each(rows)('%s', (_, answers, phase, ready, reachable, progress) => {
    const life = new NodeLife();
    life.plan();
    for (const answer of answers) life.answer(answer);
    expect(life.phase).toBe(phase);
    const [first, second, , fourth, fifth, ...rest] = life.conditions;
    expect(first).toBe(`Ready=${ready}`);
    expect(second).toBe(`Reachable=${reachable}`);
    expect(fourth).toBe('CredentialsResolved=True CredentialsResolved');
    expect(fifth).toBe(progress === undefined ? undefined : `${progress}=True ${ready.split(' ')[1]}`);
    expect(rest).toEqual([]);
    // Planned again, nothing is to be written: every retry would otherwise reach every gateway.
    const { writes } = life;
    life.plan();
    life.nowMs += 1_000;
    life.plan();
    expect(life.writes).toBe(writes);
  });

  test('a forbidden address: the message names the flag that allows loopback', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(failed('forbidden_address'));
    const { message } = conditionOf(life.node.status?.conditions, 'Ready') ?? {};
    expect(message).toContain('--allow-loopback-upstreams');
    expect(Object.keys(flags)).toContain('allow-loopback-upstreams');
  });

  test.each([1, 2, 5])('offline after failureThreshold %i', (failureThreshold) => {
    const life = new NodeLife({ healthCheck: { failureThreshold } });
    life.plan();
    const phases = Array.from({ length: failureThreshold }, () => {
      life.answer(refused);
      return life.phase;
    });
    expect(phases).toEqual([...Array(failureThreshold - 1).fill('error'), 'offline']);
  });

  test('a restart counts failures from the start, but an offline node stays offline', () => {
    const life = new NodeLife();
    life.plan();
    for (const answer of [good, refused, refused]) life.answer(answer);
    life.restart();
    life.answer(refused);
    expect(life.phase).toBe('error');
    life.answer(refused);
    life.answer(refused);
    expect(life.phase).toBe('offline');
    life.restart();
    life.answer(refused);
    expect(life.phase).toBe('offline');
    life.answer(status(200));
    expect(life.phase).toBe('ready');
  });

  test('a failed sync is tried again as a sync, and a check never hides that it failed', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(good);
    life.annotate('1');
    life.answer(invalid);
    expect(life.phase).toBe('error');
    expect(life.untilDue().contact?.kind).toBe('sync');
    life.answer(good);
    expect(life.phase).toBe('ready');
    expect(life.untilDue().contact?.kind).toBe('check');
  });
});

describe('credentials', () => {
  test('refused: an error that only a change heals, and no contact', () => {
    const life = new NodeLife();
    life.credentials = 'Refused';
    const made = life.plan();
    expect(made).toMatchObject({ contact: undefined, nextDueMs: undefined });
    expect(life.phase).toBe('error');
    expect(life.conditions).toEqual([
      'Ready=False SecretNotFound',
      'Reachable=Unknown NotChecked',
      'ModelsSynced=Unknown Pending',
      'CredentialsResolved=False SecretNotFound',
      'Stalled=True SecretNotFound',
    ]);
    expect(life.node.status?.apiKeySet).toBe(false);
    life.credentials = 'Resolved';
    expect(life.plan().contact).toMatchObject({ kind: 'sync', urgency: 'Urgent' });
    expect([life.phase, life.conditions[0]]).toEqual(['idle', 'Ready=Unknown NotChecked']);
    life.answer(good);
    expect([life.phase, life.node.status?.apiKeySet]).toEqual(['ready', true]);
  });

  test('refused after it was ready: the models stay; resolved after a restart: synced anew', () => {
    const life = new NodeLife();
    life.plan();
    life.answer(good);
    life.credentials = 'Refused';
    life.plan();
    expect([life.phase, life.models]).toEqual(['error', ['m']]);
    life.credentials = 'Resolved';
    expect(life.restart().contact?.kind).toBe('sync');
  });

  test('not known yet: what is there stands, and a new node says so', () => {
    const life = new NodeLife();
    life.credentials = 'Pending';
    life.plan();
    expect(life.conditions).toContain('CredentialsResolved=Unknown Pending');
    expect(life.last).toMatchObject({ contact: undefined, nextDueMs: undefined });
    life.credentials = 'Resolved';
    life.plan();
    life.answer(good);
    life.credentials = 'Pending';
    expect(life.restart()).toMatchObject({ status: undefined, contact: undefined });
    life.credentials = 'Resolved';
    expect(life.plan()).toMatchObject({ status: undefined, contact: undefined });
  });
});

test.each([
  ['baseURL', { baseURL: 'http://other/v1' }],
  ['authentication', { authentication: 'XAPIKey' }],
  ['headers', { headers: [{ name: 'x-a', value: 'b' }] }],
  ['tls', { tls: { serverName: 'other' } }],
])('a change of %s makes a node idle and syncs it at once', (_, spec) => {
  const life = new NodeLife();
  life.plan();
  life.answer(good);
  expect(life.edit(spec).contact).toMatchObject({ kind: 'sync', urgency: 'Urgent' });
  expect([life.phase, life.conditions[0], life.models]).toEqual(['idle', 'Ready=Unknown NotChecked', ['m']]);
  life.answer(good);
  expect(life.phase).toBe('ready');
  expect(life.plan().contact).toBeUndefined();
});

test('an edit of a Secret that leaves the credential as it is changes nothing, not even of an offline node', () => {
  const life = new NodeLife({ healthCheck: { failureThreshold: 1 } });
  life.plan();
  life.answer(good);
  life.answer(refused);
  const due = life.last?.nextDueMs;
  life.version = '2';
  expect(life.plan()).toMatchObject({ status: undefined, contact: undefined, nextDueMs: due });
  expect(life.phase).toBe('offline');
  life.credential = 'sk-2';
  expect(life.plan().contact).toMatchObject({ kind: 'sync', urgency: 'Urgent' });
  expect(life.phase).toBe('idle');
});

test('what decides about a connection is nowhere in a plan as it is', () => {
  const life = new NodeLife();
  expect(JSON.stringify(life.plan())).not.toContain('sk-1');
});

test('a new node whose credential is looked up first is not contacted for its manual list either', () => {
  const life = new NodeLife({ manualModels: ['m'] });
  life.credentials = 'Pending';
  life.plan();
  life.credentials = 'Resolved';
  expect(life.plan().contact).toBeUndefined();
  expect([life.phase, life.models]).toEqual(['idle', ['m']]);
});

test.each(['Always', 'Never'])(
  'an offline node with another address is idle and contacted at once (%s)',
  (discovery) => {
    const life = new NodeLife({
      manualModels: ['m'],
      sync: { discovery },
      healthCheck: { failureThreshold: 1 },
    });
    life.plan();
    life.answer(refused);
    expect(life.phase).toBe('offline');
    const changed = life.edit({ baseURL: 'http://other/v1' });
    expect(changed.contact).toMatchObject({ urgency: 'Urgent' });
    expect([life.phase, life.conditions[0]]).toEqual(['idle', 'Ready=Unknown NotChecked']);
    life.answer(good);
    expect(life.phase).toBe('ready');
  },
);

test('an answer that comes from the connection as it was before says nothing', () => {
  const life = new NodeLife();
  life.plan();
  life.plan(status(401), 'another connection');
  expect([life.phase, life.last?.contact?.kind]).toEqual(['idle', 'sync']);
});

test('a change of a credential or address is recognised after a restart', () => {
  const life = new NodeLife();
  life.plan();
  life.answer(good);
  expect(life.restart().contact).toBeUndefined();
  life.version = '2';
  expect(life.restart().contact?.kind).toBe('sync');
  life.answer(good);
  expect(life.node.status?.syncedWith).toEqual({
    baseURL: 'http://127.0.0.1:1/v1',
    secretResourceVersion: '2',
  });
  life.restart();
  expect(life.edit({ baseURL: 'http://other/v1' }).contact?.kind).toBe('sync');
});

test('other changes of the spec contact nobody, and the status follows their generation', () => {
  const life = new NodeLife();
  life.plan();
  life.answer(good);
  const times = life.node.status?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime);
  life.nowMs += 5_000;
  const made = life.edit({ enabled: false, weight: 1, priority: 3 });
  expect(made.contact).toBeUndefined();
  expect(life.node.status?.observedGeneration).toBe(2);
  expect(life.node.status?.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([
    2, 2, 2, 2,
  ]);
  expect(life.node.status?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(times);
  expect(life.untilDue().contact?.kind).toBe('check');
});

test('a disabled node is checked too; one that is being deleted is left alone', () => {
  const life = new NodeLife({ enabled: false });
  expect(life.plan().contact?.kind).toBe('sync');
  const dying = new NodeLife({}, { deletionTimestamp: '2027-01-01T00:00:00Z' });
  expect(dying.plan()).toMatchObject({ contact: undefined, nextDueMs: undefined });
});

test('lastTransitionTime moves only when a status flips; messages hold nothing that changes by itself', () => {
  const life = new NodeLife();
  life.plan();
  life.answer(good);
  const reachable = () => life.node.status?.conditions?.[1];
  life.answer(refused);
  const [first, message] = [reachable()?.lastTransitionTime, reachable()?.message];
  life.answer(refused);
  expect([reachable()?.lastTransitionTime, reachable()?.message]).toEqual([first, message]);
  life.answer(status(200));
  expect(reachable()?.lastTransitionTime).not.toBe(first);
});

test('events tell of phases and models, once', () => {
  const life = new NodeLife({ healthCheck: { failureThreshold: 2 } });
  const told: string[] = [];
  const note = () => told.push(...(life.last?.events ?? []).map(({ type, reason }) => `${type} ${reason}`));
  life.plan();
  note();
  for (const answer of [listed('a', 'b'), refused, refused, refused, status(200), status(200)]) {
    life.answer(answer);
    note();
  }
  expect(told).toEqual([
    'Normal ModelAdded',
    'Normal Healthy',
    'Warning UpstreamUnreachable',
    'Warning UpstreamUnreachable',
    'Normal Recovered',
  ]);
});

test('an Event is bounded, however many and long the names', () => {
  const life = new NodeLife();
  life.plan();
  life.answer(listed(...Array.from({ length: 3_000 }, (_, index) => `${index}-${'ü'.repeat(400)}`)));
  for (const { note } of life.last?.events ?? []) expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_000);
});
