import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSessions } from '../../../src/console/sessions.ts';

const idleMs = 60_000;
function sessionsAt(start = 0) {
  let time = start;
  const sessions = createSessions({ randomBytes, now: () => time, idleMs });
  const wait = (ms: number): void => {
    time += ms;
  };
  return { sessions, wait };
}

test('a token opens once', () => {
  const { sessions } = sessionsAt();
  const token = sessions.newToken();
  const cookie = sessions.redeem(token);
  expect(cookie).toMatch(/^[\w-]{43}$/);
  expect(cookie).not.toBe(token);
  expect(sessions.redeem(token)).toBeUndefined();
  expect(sessions.redeem('')).toBeUndefined();
  expect(sessions.holds(cookie, true)).toBe(true);
  expect(sessions.holds(token, true)).toBe(false);
  expect(sessions.holds(undefined, true)).toBe(false);
  expect(sessions.holds(`${cookie}x`, true)).toBe(false);
});

test('a session ends after its idle time; what people do prolongs it, what the page does by itself does not', () => {
  const { sessions, wait } = sessionsAt();
  const cookie = sessions.redeem(sessions.newToken());
  wait(idleMs);
  expect(sessions.holds(cookie, true)).toBe(true);
  wait(idleMs);
  expect(sessions.holds(cookie, false)).toBe(true);
  wait(1);
  expect(sessions.holds(cookie, false)).toBe(false);
  expect(sessions.holds(cookie, true)).toBe(false);
});

test('no more than twenty of each; the oldest go', () => {
  const { sessions } = sessionsAt();
  const tokens = Array.from({ length: 21 }, () => sessions.newToken());
  expect(sessions.redeem(tokens[0] ?? '')).toBeUndefined();
  const first = sessions.redeem(tokens[1] ?? '');
  const second = sessions.redeem(tokens[2] ?? '');
  expect(sessions.holds(first, true)).toBe(true);
  for (let more = 0; more < 19; more++) sessions.redeem(sessions.newToken());
  expect(sessions.holds(second, true), 'idle longest').toBe(false);
  expect(sessions.holds(first, true)).toBe(true);
});
