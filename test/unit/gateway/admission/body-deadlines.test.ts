import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BodyDeadlines, PendingBody } from '../../../../src/gateway/admission/body-deadlines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

class Body extends PendingBody {
  readonly told: unknown[] = [];
  readonly #deadlines: BodyDeadlines;
  readonly #fault: Error | undefined;

  constructor(deadlines: BodyDeadlines, fault?: Error) {
    super();
    this.#deadlines = deadlines;
    this.#fault = fault;
    deadlines.add(this);
  }

  override late(reason: 'idle' | 'total'): void {
    this.#deadlines.remove(this);
    if (this.#fault !== undefined) throw this.#fault;
    this.told.push(reason);
  }

  override failed(error: unknown): void {
    this.told.push(error);
  }
}

test('what one body throws is its own: the others are notified all the same', () => {
  const deadlines = new BodyDeadlines({ idleMs: 1_000, totalMs: 10_000, clock: () => performance.now() });
  const fault = new Error('no');
  const bodies = [new Body(deadlines), new Body(deadlines, fault), new Body(deadlines)];
  vi.advanceTimersByTime(1_500);
  expect(bodies.map(({ told }) => told)).toEqual([['idle'], [fault], ['idle']]);
});
