import { expect, test } from 'vitest';
import { type CircuitListener, createCircuits } from '../../../src/gateway/circuits.ts';

function setUp() {
  const clock = { ms: 1_000_000 };
  const told: unknown[] = [];
  const listener: CircuitListener = {
    opened: (circuit) => told.push(['opened', circuit]),
    closed: (circuit) => told.push(['closed', circuit]),
  };
  const circuits = createCircuits(() => clock.ms, listener);
  const state = (model = 'm') => circuits.state('ns/n', model);
  return { clock, circuits, state, told };
}

test('opens after five failures within 30 s, not after four', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 4; i++) circuits.answered('ns/n', 'm', 500);
  expect(state()).toBe('closed');
  circuits.answered('ns/n', 'm', 429);
  expect(state()).toBe('open');
  expect(state('other')).toBe('closed');
});

test('failures further apart than 30 s do not add up', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 20; i++) {
    circuits.answered('ns/n', 'm', 503);
    clock.ms += 8_000;
  }
  expect(state()).toBe('closed');
});

test('a success takes one failure back: four of five failing opens, one of two does not', () => {
  const often = setUp();
  for (let i = 0; i < 10; i++) often.circuits.answered('ns/n', 'm', i % 5 === 4 ? 200 : 500);
  expect(often.state()).toBe('open');
  const even = setUp();
  for (let i = 0; i < 100; i++) even.circuits.answered('ns/n', 'm', i % 2 === 0 ? 200 : 500);
  expect(even.state()).toBe('closed');
});

test.each([401, 403, 408, 409])('%i neither counts nor closes, and frees the probe', (status) => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 50; i++) circuits.answered('ns/n', 'm', status);
  expect(state()).toBe('closed');
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  circuits.answered('ns/n', 'm', status);
  expect(state()).toBe('open');
  clock.ms += 30_000;
  circuits.claim('ns/n', 'm');
  circuits.answered('ns/n', 'm', status);
  expect(state()).toBe('probe');
});

test('connection failures open the whole node', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.connectFailed('ns/n', `model-${i}`);
  expect(state('any')).toBe('open');
  expect(circuits.state('ns/other', 'any')).toBe('closed');
});

test('Retry-After opens at once, for its time, at most 300 s', () => {
  const { clock, circuits, state } = setUp();
  circuits.answered('ns/n', 'm', 429, 7);
  expect(state()).toBe('open');
  clock.ms += 6_999;
  expect(state()).toBe('open');
  clock.ms += 1;
  expect(state()).toBe('probe');
  circuits.answered('ns/n', 'other', 503, 86_400);
  clock.ms += 299_999;
  expect(state('other')).toBe('open');
  clock.ms += 1;
  expect(state('other')).toBe('probe');
});

test('half-open lets one probe through; its success closes', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  clock.ms += 30_000;
  expect(state()).toBe('probe');
  circuits.claim('ns/n', 'm');
  expect(state()).toBe('open');
  circuits.answered('ns/n', 'm', 200);
  expect(state()).toBe('closed');
  expect([...circuits.notClosed()]).toEqual([]);
});

test('failing probes double the wait: 30, 60, 120, 240, 300, 300 s', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  for (const seconds of [30, 60, 120, 240, 300, 300]) {
    clock.ms += seconds * 1000 - 1;
    expect(state()).toBe('open');
    clock.ms += 1;
    expect(state()).toBe('probe');
    circuits.claim('ns/n', 'm');
    circuits.answered('ns/n', 'm', 500);
  }
});

test('a probe whose caller left is free again at once; one that is lost, after a minute', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  clock.ms += 30_000;
  circuits.claim('ns/n', 'm');
  circuits.abandoned('ns/n', 'm');
  expect(state()).toBe('probe');
  circuits.claim('ns/n', 'm');
  clock.ms += 60_000;
  expect(state()).toBe('probe');
});

test('timeouts count as 5xx do; 401 closes nothing; a forgotten node is closed', () => {
  const { circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.timedOut('ns/n', 'm');
  expect(state()).toBe('open');
  circuits.answered('ns/n', 'm', 401);
  expect(state()).toBe('open');
  circuits.forget('ns/n');
  expect(state()).toBe('closed');
});

test('failures while open do not prolong it', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  clock.ms += 29_000;
  circuits.answered('ns/n', 'm', 500);
  clock.ms += 1_000;
  expect(state()).toBe('probe');
});

test('answers that begin and break off open the circuit; those that end take failures back', () => {
  const broken = setUp();
  for (let i = 0; i < 5; i++) {
    broken.circuits.began('ns/n', 'm');
    broken.circuits.broke('ns/n', 'm');
  }
  expect(broken.state()).toBe('open');
  const half = setUp();
  for (let i = 0; i < 50; i++) {
    half.circuits.began('ns/n', 'm');
    if (i % 2 === 0) half.circuits.broke('ns/n', 'm');
    else half.circuits.answered('ns/n', 'm', 200);
  }
  expect(half.state()).toBe('closed');
});

test('a probe closes the circuit as soon as its answer begins', () => {
  const { clock, circuits, state } = setUp();
  for (let i = 0; i < 5; i++) circuits.answered('ns/n', 'm', 500);
  circuits.began('ns/n', 'm');
  expect(state()).toBe('open');
  clock.ms += 30_000;
  circuits.claim('ns/n', 'm');
  circuits.began('ns/n', 'm');
  expect(state()).toBe('closed');
});

test('opening and closing is told once, with the reason and the time', () => {
  const { clock, circuits, told } = setUp();
  for (let i = 0; i < 7; i++) circuits.answered('ns/n', 'm', 503);
  expect(told.splice(0)).toEqual([['opened', { node: 'ns/n', model: 'm', why: 'status 503', seconds: 30 }]]);
  clock.ms += 30_000;
  circuits.claim('ns/n', 'm');
  circuits.timedOut('ns/n', 'm');
  expect(told.splice(0)).toEqual([
    ['opened', { node: 'ns/n', model: 'm', why: 'no answer in time', seconds: 60 }],
  ]);
  clock.ms += 60_000;
  circuits.answered('ns/n', 'm', 200);
  expect(told.splice(0)).toEqual([['closed', { node: 'ns/n', model: 'm' }]]);
  for (let i = 0; i < 5; i++) circuits.connectFailed('ns/n', 'm');
  circuits.answered('ns/n', 'm', 429, 7);
  expect(told.splice(0)).toEqual([
    ['opened', { node: 'ns/n', model: undefined, why: 'connections fail', seconds: 30 }],
    ['opened', { node: 'ns/n', model: 'm', why: 'status 429', seconds: 7 }],
  ]);
  circuits.answered('ns/n', 'other', 200);
  expect(told).toEqual([]);
});
