import { expect, test } from 'vitest';
import { ApiError } from '../../../src/kube/api-error.ts';
import { restartPolicy, restartReason } from '../../../src/kube/restart-policy.ts';

const failed = (status: number, reason = '') => new ApiError(status, reason, 'no');

test.each([
  ['closed', undefined],
  ['error', new Error('a program error')],
  ['error', failed(500)],
  ['error', failed(0, 'ECONNREFUSED')],
  ['expired', failed(410)],
  ['expired', failed(500, 'Expired')],
  ['expired', failed(504, 'ResourceVersionTooLarge')],
  ['silence', failed(0, 'Silent')],
  ['unauthorized', failed(401)],
  ['forbidden', failed(403)],
  ['missing', failed(404)],
])('%s: %s', (reason, fault) => {
  expect(restartReason(fault)).toBe(reason);
});

test('the wait grows while the server fails, and is short again once something was received', () => {
  const policy = restartPolicy(() => 0.5);
  const waits = Array.from({ length: 6 }, () => policy.waitMs('error', failed(500), 10));
  expect(waits).toEqual([...waits].sort((one, other) => one - other));
  expect(waits[5]).toBeGreaterThan((waits[0] ?? 0) * 8);
  policy.received();
  expect(policy.waitMs('error', failed(500), 10)).toBe(waits[0]);
});

test('the first answer after an outage is not waited for as long as the outage, once', () => {
  const policy = restartPolicy(() => 0.5);
  const first = policy.waitMs('error', failed(0, 'ECONNREFUSED'), 0);
  for (let tries = 0; tries < 6; tries++) policy.waitMs('error', failed(0, 'ECONNREFUSED'), 0);
  expect(policy.waitMs('expired', failed(410), 0)).toBe(first);
  for (let tries = 0; tries < 6; tries++) policy.waitMs('error', failed(0, 'ECONNREFUSED'), 0);
  expect(policy.waitMs('expired', failed(410), 0)).toBeGreaterThan(first);
});

test('a watch that lived as long as it was asked to starts again within 100 ms', () => {
  const policy = restartPolicy(() => 0.99);
  for (let tries = 0; tries < 6; tries++) policy.waitMs('error', failed(500), 0);
  expect(policy.waitMs('closed', undefined, 300_000)).toBeLessThanOrEqual(100);
});
