import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SilenceClock, SilenceListener } from '../../../../src/gateway/answer/silence-clock.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

class Listener extends SilenceListener {
  told = 0;
  onSilent = () => {};

  readonly faults: unknown[] = [];

  override silent(): void {
    this.told += 1;
    this.onSilent();
  }

  override failed(error: unknown): void {
    this.faults.push(error);
  }
}

function followed(clock: SilenceClock): Listener {
  const listener = new Listener();
  clock.follow(listener);
  return listener;
}

describe('SilenceClock', () => {
  test('tells of each time of silence, never early, at most a turn late', () => {
    const listener = followed(new SilenceClock(15_000));
    vi.advanceTimersByTime(14_999);
    expect(listener.told).toBe(0);
    vi.advanceTimersByTime(101);
    expect(listener.told).toBe(1);
    vi.advanceTimersByTime(15_100);
    expect(listener.told).toBe(2);
  });

  test('waits anew from when something was heard, at whatever moment', () => {
    const clock = new SilenceClock(15_000);
    for (const before of [0, 50, 99, 100, 7_000, 14_950]) {
      const listener = followed(clock);
      vi.advanceTimersByTime(before);
      listener.heardAt = clock.turn;
      vi.advanceTimersByTime(14_950);
      expect(listener.told, `heard after ${before} ms`).toBe(0);
      vi.advanceTimersByTime(150);
      expect(listener.told, `heard after ${before} ms`).toBe(1);
      clock.forget(listener);
    }
  });

  test('says nothing to one that always hears something', () => {
    const clock = new SilenceClock(60);
    const listener = followed(clock);
    for (let at = 0; at < 1000; at += 10) {
      vi.advanceTimersByTime(10);
      listener.heardAt = clock.turn;
    }
    expect(listener.told).toBe(0);
  });

  test('forgets, also while it tells, and then needs no timer', () => {
    const clock = new SilenceClock(60);
    const [one, two, three] = [followed(clock), followed(clock), followed(clock)];
    three.onSilent = () => {
      clock.forget(three);
      clock.forget(two);
    };
    vi.advanceTimersByTime(70);
    expect([one.told, two.told, three.told]).toEqual([1, 0, 1]);
    vi.advanceTimersByTime(70);
    expect([one.told, two.told, three.told]).toEqual([2, 0, 1]);
    expect(vi.getTimerCount()).toBe(1);
    clock.forget(one);
    clock.forget(three);
    expect(vi.getTimerCount()).toBe(0);
    followed(clock);
    expect(vi.getTimerCount()).toBe(1);
  });

  test('what one listener throws is its own: the others are notified, and it is again', () => {
    const clock = new SilenceClock(1_000);
    const [before, failing, after] = [followed(clock), followed(clock), followed(clock)];
    const fault = new Error('no');
    failing.onSilent = () => {
      throw fault;
    };
    vi.advanceTimersByTime(2_100);
    expect([before.told, failing.told, after.told]).toEqual([2, 2, 2]);
    expect(failing.faults).toEqual([fault, fault]);
    expect([...before.faults, ...after.faults]).toEqual([]);
  });
});
