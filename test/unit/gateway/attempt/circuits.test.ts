import { expect, test } from 'vitest';
import {
  type Asked,
  type CircuitListener,
  type Circuits,
  createCircuits,
} from '../../../../src/gateway/attempt/circuits.ts';
import type { Probe } from '../../../../src/routing/route.ts';

const asked = (model = 'm', probe?: Probe): Asked => ({ node: { id: 'ns/n' }, model, probe });

function setUp() {
  const clock = { ms: 1_000_000 };
  const told: unknown[] = [];
  const listener: CircuitListener = {
    opened: (circuit) => told.push(['opened', circuit]),
    closed: (circuit) => told.push(['closed', circuit]),
  };
  const circuits = createCircuits(() => clock.ms, listener);
  const state = (model = 'm') => circuits.state('ns/n', model);
  /** Claims the probe, which must be free. */
  const claim = (model = 'm') => {
    const probe = circuits.claim('ns/n', model);
    if (probe === undefined) throw new Error('there is no probe to claim');
    return asked(model, probe);
  };
  /** Opens the circuit of `m`, and lets its time pass. */
  const halfOpen = () => {
    for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
    clock.ms += 30_000;
    expect(state()).toBe('probe');
  };
  return { clock, circuits, state, told, claim, halfOpen };
}

test('opens after five failures within 30 s, not after four', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 4; i++) circuits.answered(asked(), 500);
  expect(state()).toBe('closed');
  circuits.answered(asked(), 429);
  expect(state()).toBe('open');
  expect(state('other')).toBe('closed');
});

test('failures further apart than 30 s do not add up', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 20; i++) {
    circuits.answered(asked(), 503);
    clock.ms += 8_000;
  }
  expect(state()).toBe('closed');
});

test('a success takes one failure back: four of five failing opens, one of two does not', () => {
  const often = setUp();
  for (let i = 0; i < 10; i++) often.circuits.answered(asked(), i % 5 === 4 ? 200 : 500);
  expect(often.state()).toBe('open');
  const even = setUp();
  for (let i = 0; i < 100; i++) even.circuits.answered(asked(), i % 2 === 0 ? 200 : 500);
  expect(even.state()).toBe('closed');
});

test.each([401, 403, 408, 409])('%i neither counts nor closes, and frees the probe', (status) => {
  const { clock, circuits, state, claim } = setUp();
  for (let i = 0; i < 50; i++) circuits.answered(asked(), status);
  expect(state()).toBe('closed');
  for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
  circuits.answered(asked(), status);
  expect(state()).toBe('open');
  clock.ms += 30_000;
  circuits.answered(claim(), status);
  expect(state()).toBe('probe');
});

test('connection failures open the whole node', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.connectFailed(asked(`model-${i}`));
  expect(state('any')).toBe('open');
  expect(circuits.state('ns/other', 'any')).toBe('closed');
});

test('Retry-After opens at once, for its time, at most 300 s', () => {
  const { clock, circuits, state } = setUp();
  circuits.answered(asked(), 429, 7);
  expect(state()).toBe('open');
  clock.ms += 6_999;
  expect(state()).toBe('open');
  clock.ms += 1;
  expect(state()).toBe('probe');
  circuits.answered(asked('other'), 503, 86_400);
  clock.ms += 299_999;
  expect(state('other')).toBe('open');
  clock.ms += 1;
  expect(state('other')).toBe('probe');
});

test('half-open lets one probe through; its success closes', () => {
  const { circuits, state, claim, halfOpen } = setUp();
  halfOpen();
  const probe = claim();
  expect(state()).toBe('open');
  expect(circuits.claim('ns/n', 'm')).toBeUndefined();
  circuits.answered(probe, 200);
  expect(state()).toBe('closed');
  expect([...circuits.notClosed()]).toEqual([]);
});

test('failing probes double the wait: 30, 60, 120, 240, 300, 300 s', () => {
  const { clock, circuits, state, claim } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
  for (const seconds of [30, 60, 120, 240, 300, 300]) {
    clock.ms += seconds * 1000 - 1;
    expect(state()).toBe('open');
    clock.ms += 1;
    expect(state()).toBe('probe');
    circuits.answered(claim(), 500);
  }
});

test('a probe whose caller left is free again at once; one that is lost, after a minute', () => {
  const { clock, circuits, state, claim, halfOpen } = setUp();
  halfOpen();
  circuits.abandoned(claim());
  expect(state()).toBe('probe');
  const lost = claim();
  clock.ms += 60_000;
  expect(state()).toBe('probe');
  const next = claim();
  circuits.abandoned(lost);
  circuits.answered(lost, 200);
  expect(state()).toBe('open');
  circuits.answered(next, 200);
  expect(state()).toBe('closed');
});

const byOthers: readonly [what: string, outcome: (circuits: Circuits) => void][] = [
  ['leaves', (circuits) => circuits.abandoned(asked())],
  ['fails', (circuits) => circuits.answered(asked(), 500)],
  ['has no answer in time', (circuits) => circuits.timedOut(asked())],
  ['breaks off', (circuits) => circuits.broke(asked())],
  ['gets an answer that says nothing', (circuits) => circuits.answered(asked(), 401)],
  ['gets a good answer', (circuits) => circuits.answered(asked(), 200)],
  ['gets the beginning of an answer', (circuits) => circuits.began(asked())],
];

test.each(byOthers)(
  'an older request that %s while a probe is out changes nothing of it',
  (_what, outcome) => {
    const { clock, circuits, state, claim, halfOpen, told } = setUp();
    halfOpen();
    told.length = 0;
    const probe = claim();
    outcome(circuits);
    expect(state()).toBe('open');
    expect(told).toEqual([]);
    circuits.answered(probe, 500);
    clock.ms += 59_999;
    expect(state()).toBe('open');
    clock.ms += 1;
    expect(state()).toBe('probe');
  },
);

test.each(byOthers)(
  'an older request that %s while the circuit waits for a probe changes nothing of it',
  (_what, outcome) => {
    const { circuits, state, claim, halfOpen, told } = setUp();
    halfOpen();
    told.length = 0;
    outcome(circuits);
    expect(state()).toBe('probe');
    expect(told).toEqual([]);
    circuits.answered(claim(), 200);
    expect(state()).toBe('closed');
  },
);

test('a probe of node and model is free on both, whichever of the two it says something of', () => {
  const { clock, circuits, state, claim } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
  for (let i = 0; i < 5; i++) circuits.connectFailed(asked());
  clock.ms += 30_000;
  circuits.connectFailed(claim());
  expect(circuits.state('ns/n', 'm')).toBe('open');
  clock.ms += 60_000;
  expect(state()).toBe('probe');
  circuits.timedOut(claim());
  expect(state('other')).toBe('probe');
  circuits.answered(claim('other'), 200);
  expect(state('other')).toBe('closed');
});

test('timeouts count as 5xx do; 401 closes nothing; a forgotten node is closed', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.timedOut(asked());
  expect(state()).toBe('open');
  circuits.answered(asked(), 401);
  expect(state()).toBe('open');
  circuits.forget('ns/n');
  expect(state()).toBe('closed');
});

test('failures while open do not prolong it', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
  clock.ms += 29_000;
  circuits.answered(asked(), 500);
  clock.ms += 1_000;
  expect(state()).toBe('probe');
});

test('answers that begin and break off open the circuit; those that end take failures back', () => {
  const broken = setUp();
  for (let i = 0; i < 5; i++) {
    broken.circuits.began(asked());
    broken.circuits.broke(asked());
  }
  expect(broken.state()).toBe('open');
  const half = setUp();
  for (let i = 0; i < 50; i++) {
    half.circuits.began(asked());
    if (i % 2 === 0) half.circuits.broke(asked());
    else half.circuits.answered(asked(), 200);
  }
  expect(half.state()).toBe('closed');
});

test('a probe closes the circuit as soon as its answer begins', () => {
  const { clock, circuits, state, claim } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered(asked(), 500);
  circuits.began(asked());
  expect(state()).toBe('open');
  clock.ms += 30_000;
  circuits.began(claim());
  expect(state()).toBe('closed');
});

test('probes whose answers begin and break off double the wait as others do', () => {
  const { clock, circuits, state, claim, halfOpen } = setUp();
  halfOpen();
  for (const seconds of [60, 120, 240, 300, 300]) {
    const probe = claim();
    circuits.began(probe);
    expect(state()).toBe('closed');
    circuits.broke(probe);
    clock.ms += seconds * 1000 - 1;
    expect(state()).toBe('open');
    clock.ms += 1;
    expect(state()).toBe('probe');
  }
});

test('so do the streams of others that break off behind it, until an answer ends well', () => {
  const { clock, circuits, state, claim, halfOpen } = setUp();
  halfOpen();
  circuits.began(claim());
  for (let i = 0; i < 5; i++) circuits.broke(asked());
  clock.ms += 59_999;
  expect(state()).toBe('open');
  clock.ms += 1;
  const probe = claim();
  circuits.began(probe);
  circuits.answered(probe, 200);
  for (let i = 0; i < 5; i++) circuits.broke(asked());
  clock.ms += 29_999;
  expect(state()).toBe('open');
  clock.ms += 1;
  expect(state()).toBe('probe');
});

test('opening and closing is told once, with the reason and the time', () => {
  const { clock, circuits, told, claim } = setUp();
  for (let i = 0; i < 7; i++) circuits.answered(asked(), 503);
  expect(told.splice(0)).toEqual([['opened', { node: 'ns/n', model: 'm', why: 'status 503', seconds: 30 }]]);
  clock.ms += 30_000;
  circuits.timedOut(claim());
  expect(told.splice(0)).toEqual([
    ['opened', { node: 'ns/n', model: 'm', why: 'no answer in time', seconds: 60 }],
  ]);
  clock.ms += 60_000;
  circuits.answered(claim(), 200);
  expect(told.splice(0)).toEqual([['closed', { node: 'ns/n', model: 'm' }]]);
  for (let i = 0; i < 5; i++) circuits.connectFailed(asked());
  circuits.answered(asked(), 429, 7);
  expect(told.splice(0)).toEqual([
    ['opened', { node: 'ns/n', model: undefined, why: 'connections fail', seconds: 30 }],
    ['opened', { node: 'ns/n', model: 'm', why: 'status 429', seconds: 7 }],
  ]);
  circuits.answered(asked('other'), 200);
  expect(told).toEqual([]);
});
