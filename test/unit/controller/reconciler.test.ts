import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { createControllerMetrics } from '../../../src/controller/metrics.ts';
import { Queue } from '../../../src/controller/queue.ts';
import { type Reconcile, runWorkers } from '../../../src/controller/reconciler.ts';
import { TerminalError } from '../../../src/controller/terminal-error.ts';
import { StoreError } from '../../../src/store/store.ts';
import { fakeClock, turn } from './fake-clock.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function run(reconcile: Reconcile, workers = 2) {
  const clock = fakeClock();
  const registry = new Registry();
  const observer = createControllerMetrics(registry, clock.now).controller('test', () => queue.startTimes());
  const queue = new Queue(clock, observer.queue);
  const stop = new AbortController();
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const done = runWorkers({ name: 'test', queue, observer, reconcile }, workers, {
    log,
    clock,
    reconcileID: () => 'id',
    signal: stop.signal,
  });
  const end = async () => {
    stop.abort();
    queue.close();
    await done;
  };
  ends.push(end);
  const metric = async (name: string) =>
    (await registry.metrics()).match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1];
  return { clock, queue, lines, metric, end };
}

test('a result can ask to come again, an error comes again, a terminal error does not', async () => {
  const calls: string[] = [];
  const { clock, queue, lines, metric } = run(async (key) => {
    calls.push(key);
    if (key === 'ns/bad') throw new Error('no luck');
    if (key === 'ns/hopeless') throw new TerminalError('never');
    if (key === 'ns/raced') throw new StoreError('Conflict', 'changed');
    return key === 'ns/later' ? { requeueAfterMs: 60_000 } : {};
  });
  for (const key of ['ns/ok', 'ns/later', 'ns/bad', 'ns/hopeless', 'ns/raced']) queue.add(key, 'Urgent');
  await turn();
  expect(calls).toHaveLength(5);
  expect([...clock.timers].map(({ atMs }) => atMs - clock.now()).sort()).toEqual([1_000, 1_000, 60_000]);
  expect(await metric('controller_runtime_reconcile_total{controller="test",result="success"}')).toBe('1');
  expect(await metric('controller_runtime_reconcile_total{controller="test",result="requeue_after"}')).toBe(
    '2',
  );
  expect(await metric('controller_runtime_reconcile_total{controller="test",result="error"}')).toBe('2');
  expect(await metric('controller_runtime_terminal_reconcile_errors_total{controller="test"}')).toBe('1');
  expect(await metric('controller_runtime_active_workers{controller="test"}')).toBe('0');
  expect(await metric('controller_runtime_max_concurrent_reconciles{controller="test"}')).toBe('2');
  expect(await metric('workqueue_retries_total{name="test"}')).toBe('2');
  const errors = lines.filter(({ level }) => level === 50);
  expect(errors.map(({ name }) => name)).toEqual(['bad', 'hopeless']);
  expect(errors[0]).toMatchObject({
    controller: 'test',
    namespace: 'ns',
    reconcileID: 'id',
    msg: 'Reconcile failed',
  });
  await clock.advance(1_000);
  expect(calls.slice(5).sort()).toEqual(['ns/bad', 'ns/raced']);
});

test('stopping waits for what is under way and logs no error for it', async () => {
  let ended = false;
  const { queue, lines, end } = run(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended = true;
          reject(signal.reason);
        });
      }),
  );
  queue.add('ns/a', 'Urgent');
  await turn();
  await end();
  expect(ended).toBe(true);
  expect(lines).toEqual([]);
});

test('a reconcile that takes longer than a minute is ended and tried again', async () => {
  const { clock, queue, lines, metric } = run(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  );
  queue.add('ns/a', 'Urgent');
  await clock.advance(59_999);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe('0');
  await clock.advance(1);
  expect(await metric('controller_runtime_reconcile_errors_total{controller="test"}')).toBe('1');
  expect(lines[0]).toMatchObject({ err: { message: 'The reconcile took longer than 60 s' } });
  expect([...clock.timers].map(({ atMs }) => atMs - clock.now())).toEqual([1_000]);
});

test('reconciles that wait for nothing still let other work in', async () => {
  let inThisTurn = 0;
  let most = 0;
  let left = 1_000;
  const { queue, end } = run(async () => {
    const until = performance.now() + 0.2;
    while (performance.now() < until);
    inThisTurn += 1;
    most = Math.max(most, inThisTurn);
    left -= 1;
    return {};
  });
  for (let index = 0; index < 1_000; index += 1) queue.add(`ns/${index}`, 'Background');
  // Other work: once in each turn of the event loop. By count, because a busy machine makes turns longer, never fuller.
  while (left > 0) {
    await new Promise((resolve) => setImmediate(resolve));
    inThisTurn = 0;
  }
  // Each of the two workers may go on for 5 ms.
  expect(most).toBeLessThan(100);
  await end();
});

test('label sets exist from the start', async () => {
  const { metric } = run(async () => ({}));
  for (const name of [
    'controller_runtime_reconcile_errors_total{controller="test"}',
    'workqueue_adds_total{name="test"}',
    'workqueue_depth{name="test"}',
    'workqueue_queue_duration_seconds_count{name="test"}',
    'workqueue_work_duration_seconds_count{name="test"}',
    'workqueue_unfinished_work_seconds{name="test"}',
    'workqueue_longest_running_processor_seconds{name="test"}',
    'controller_runtime_reconcile_time_seconds_count{controller="test"}',
  ]) {
    expect(await metric(name), name).toBe('0');
  }
});
