import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AdminServer, startAdminServer } from '../../../src/observe/admin-server.ts';
import { debugEndpoints } from '../../../src/observe/debug-endpoints.ts';

const log = pino({ level: 'info' }, { write: () => {} });
let on: AdminServer;
let off: AdminServer;
beforeAll(async () => {
  const options = { host: '127.0.0.1', port: 0, registry: new Registry(), unready: () => undefined };
  on = await startAdminServer({ ...options, debug: debugEndpoints(log) });
  off = await startAdminServer(options);
});
afterAll(() => Promise.all([on?.close(), off?.close()]));

const ask = async (server: AdminServer, path: string, method = 'GET') => {
  const answer = await fetch(`http://127.0.0.1:${server.address.port}${path}`, { method });
  return { status: answer.status, text: await answer.text() };
};

describe('the admin port', () => {
  test('records a profile of the CPU, one at a time', async () => {
    const first = ask(on, '/debug/profile?seconds=1');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await ask(on, '/debug/profile?seconds=1')).status).toBe(409);
    const { status, text } = await first;
    expect([status, Object.keys(JSON.parse(text))]).toEqual([
      200,
      expect.arrayContaining(['nodes', 'samples']),
    ]);
  });

  test('reads and changes the level of the log', async () => {
    expect(await ask(on, '/debug/log-level')).toEqual({ status: 200, text: 'info\n' });
    expect(await ask(on, '/debug/log-level?level=debug', 'PUT')).toEqual({ status: 200, text: 'debug\n' });
    expect(log.isLevelEnabled('debug')).toBe(true);
  });

  test.each([
    ['/debug/profile?seconds=0', 'GET', 400],
    ['/debug/profile?seconds=x', 'GET', 400],
    ['/debug/profile?seconds=1000', 'GET', 400],
    ['/debug/profile', 'POST', 404],
    ['/debug/log-level', 'PUT', 400],
    ['/debug/log-level?level=trace', 'PUT', 400],
    ['/debug/other', 'GET', 404],
  ])('refuses %s %s', async (path, method, status) => {
    expect((await ask(on, path, method)).status).toBe(status);
  });

  test('answers no other machine', async () => {
    const request = { method: 'GET', url: '/debug/log-level', socket: { remoteAddress: '10.0.0.7' } };
    expect((await debugEndpoints(log)(request as never)).status).toBe(403);
  });

  test('has nothing of that by itself', async () => {
    expect((await ask(off, '/debug/log-level')).status).toBe(404);
    expect((await ask(off, '/debug/profile')).status).toBe(404);
  });
});
