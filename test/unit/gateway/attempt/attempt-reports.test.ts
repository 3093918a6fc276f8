import { expect, test } from 'vitest';
import { createAttemptReports } from '../../../../src/gateway/attempt/attempt-reports.ts';
import { createCircuits } from '../../../../src/gateway/attempt/circuits.ts';
import { connectionFailure } from '../../../../src/gateway/attempt/failure.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { createTrafficMetrics } from '../../../../src/observe/traffic-metrics.ts';
import type { Candidate } from '../../../../src/store/store.ts';
import { UpstreamError } from '../../../../src/upstream/error.ts';

function setUp() {
  const clock = { ms: 1_000_000 };
  const logged: string[] = [];
  const attempted: string[] = [];
  const { attempts, requests } = createTrafficMetrics();
  const circuits = createCircuits(() => clock.ms);
  const reports = createAttemptReports({
    circuits,
    counters: { ...attempts, attempted: (node, outcome) => void attempted.push(`${node} ${outcome}`) },
    requests,
    log: createLog({
      level: 'info',
      format: 'json',
      role: 'test',
      destination: { write: (line: string) => void logged.push(line) },
    }),
    now: () => clock.ms,
  });
  const candidate = { node: { id: 'ns/n' }, model: 'm' } as unknown as Candidate;
  return { clock, logged, attempted, circuits, reports, candidate };
}

test('a shortage of our own counts against no node, is counted, and is logged once in 30 s with its code', () => {
  const { clock, logged, attempted, circuits, reports, candidate } = setUp();
  const shortage = new UpstreamError('local', false, 'EMFILE');
  const failure = connectionFailure(shortage);
  expect(failure.status).toBe(503);
  for (let i = 0; i < 10; i++) {
    expect(reports.failed(candidate, failure)).toBe('ns/n: not_sent (EMFILE)');
  }
  expect(circuits.state('ns/n', 'm')).toBe('closed');
  expect(attempted).toEqual(Array.from({ length: 10 }, () => 'ns/n not_sent'));
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', code: 'EMFILE' }]);
  clock.ms += 30_000;
  reports.failed(candidate, connectionFailure(shortage));
  expect(logged).toHaveLength(2);
});

test('what the log says of a failed attempt names what its connection failed by', () => {
  const { reports, candidate } = setUp();
  const failed = (code: 'reset' | 'connect_refused', detail?: string) =>
    reports.failed(candidate, connectionFailure(new UpstreamError(code, false, detail)));
  expect(failed('reset', 'ETIMEDOUT')).toBe('ns/n: reset (ETIMEDOUT)');
  expect(failed('connect_refused', 'ECONNREFUSED')).toBe('ns/n: connect_error (ECONNREFUSED)');
  expect(failed('reset')).toBe('ns/n: reset');
});
