import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline, Deadlines } from '../../../src/upstream/deadlines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Calls `act` when `waitMs` have passed since `sinceMs`, and again after each further `waitMs`. */
class Waiting extends Deadline {
  sinceMs = performance.now();
  acts = 0;
  looks = 0;
  act = () => {};
  readonly faults: unknown[] = [];
  readonly #waitMs: number;

  constructor(waitMs: number) {
    super();
    this.#waitMs = waitMs;
  }

  get dueMs(): number {
    return this.sinceMs + this.#waitMs;
  }

  override check(nowMs: number): number {
    this.looks += 1;
    if (nowMs < this.dueMs) return this.dueMs;
    this.sinceMs = nowMs;
    this.acts += 1;
    this.act();
    return this.dueMs;
  }

  override failed(error: unknown): void {
    this.faults.push(error);
  }
}

function watched(deadlines: Deadlines, waitMs: number): Waiting {
  const waiting = new Waiting(waitMs);
  deadlines.watch(waiting, waiting.dueMs);
  return waiting;
}

test.each([250, 1_234, 15_000, 29_950, 30_000, 120_000, 900_000])(
  'acts after %i ms, never early, at most 100 ms late, again and again',
  (waitMs) => {
    const waiting = watched(new Deadlines(), waitMs);
    for (let count = 0; count < 4; count++) {
      const dueMs = waiting.dueMs;
      vi.advanceTimersByTime(Math.max(0, dueMs - 1 - performance.now()));
      expect(waiting.acts).toBe(count);
      vi.advanceTimersByTime(101);
      expect(waiting.acts).toBe(count + 1);
    }
    expect(waiting.looks).toBe(4);
  },
);

test('is not looked at before its time, however often it is put off', () => {
  const deadlines = new Deadlines();
  const waiting = watched(deadlines, 15_000);
  for (let at = 0; at < 3_000; at++) {
    vi.advanceTimersByTime(10);
    waiting.sinceMs = performance.now();
    deadlines.watch(waiting, waiting.dueMs);
  }
  expect(waiting.looks).toBe(0);
  vi.advanceTimersByTime(15_100);
  expect(waiting.acts).toBe(1);
});

test('an earlier time replaces a later one', () => {
  const deadlines = new Deadlines();
  const waiting = watched(deadlines, 1_000);
  deadlines.watch(waiting, performance.now() + 60_000);
  deadlines.watch(waiting, performance.now() + 1_000);
  vi.advanceTimersByTime(1_100);
  expect(waiting.acts).toBe(1);
});

test('forgets, also from within a check, and then needs no timer', () => {
  const deadlines = new Deadlines();
  const [one, two, three] = [watched(deadlines, 60), watched(deadlines, 60), watched(deadlines, 60)];
  three.act = () => {
    deadlines.forget(three);
    deadlines.forget(two);
  };
  vi.advanceTimersByTime(200);
  deadlines.forget(two);
  expect([one.acts > 0, three.acts]).toEqual([true, 1]);
  const before = two.acts;
  vi.advanceTimersByTime(1_000);
  expect([two.acts, three.acts]).toEqual([before, 1]);
  deadlines.forget(one);
  vi.advanceTimersByTime(100);
  expect(vi.getTimerCount()).toBe(0);
  const late = watched(deadlines, 60);
  vi.advanceTimersByTime(200);
  expect(late.acts).toBeGreaterThan(0);
});

test('may be watched anew from within a check', () => {
  const deadlines = new Deadlines();
  const waiting = watched(deadlines, 100);
  waiting.act = () => deadlines.watch(waiting, performance.now() + 5_000);
  vi.advanceTimersByTime(5_000);
  expect(waiting.acts).toBe(1);
  vi.advanceTimersByTime(300);
  expect(waiting.acts).toBe(2);
});

test('after a blocked event loop everything that is due is checked', () => {
  let nowMs = 0;
  const deadlines = new Deadlines(1_000, () => nowMs);
  const waits = [1_000, 20_000, 50_000].map((waitMs) => {
    const waiting = new Waiting(waitMs);
    waiting.sinceMs = 0;
    deadlines.watch(waiting, waitMs);
    return waiting;
  });
  nowMs = 100_000;
  vi.advanceTimersByTime(100);
  expect(waits.map(({ acts }) => acts)).toEqual([1, 1, 1]);
});

test('what one throws is its own: the others are checked, and it is again', () => {
  const deadlines = new Deadlines();
  const [before, failing, after] = [
    watched(deadlines, 1_000),
    watched(deadlines, 1_000),
    watched(deadlines, 1_000),
  ];
  const fault = new Error('no');
  failing.act = () => {
    throw fault;
  };
  vi.advanceTimersByTime(2_200);
  expect([before.acts, failing.acts, after.acts]).toEqual([2, 2, 2]);
  expect(failing.faults).toEqual([fault, fault]);
  expect([...before.faults, ...after.faults]).toEqual([]);
});
