import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';
import type { Behaviour } from '../support/upstream-behaviours.ts';

let gateway: GatewayUnderTest;
let first: ScriptedUpstream;
let second: ScriptedUpstream;
const timeouts = { connectSeconds: 1, firstByteSeconds: 1, idleSeconds: 1, totalSeconds: 10 };

beforeEach(async () => {
  gateway = await startGateway();
  first = await gateway.addNode('first', {
    spec: { priority: 90, timeouts, models: [{ name: 'm', aliases: ['alias'] }] },
  });
  second = await gateway.addNode('second', { spec: { priority: 10, timeouts } });
});
afterEach(() => gateway.close());

const call = async (path: string, model: string, stream: boolean) => {
  const answer = await gateway.post(path, {
    model,
    stream,
    max_tokens: 9,
    messages: [{ role: 'user', content: 'x' }],
  });
  await answer.text().catch(() => '');
  await eventually('it is recorded', () => gateway.done.length > 0, 2000, 5);
  return answer.status;
};
const records = () => gateway.logged.map((line) => JSON.parse(line) as Record<string, unknown>);

const status = (code: number): Behaviour => ({ kind: 'answer', status: code, body: {} });
const failures: readonly (readonly [behaviour: Behaviour, outcome: string])[] = [
  [status(500), 'server_error'],
  [status(429), 'rate_limited'],
  [status(401), 'credential_refused'],
  [status(408), 'client_error'],
  [{ kind: 'redirect', location: 'http://127.0.0.1:1/' }, 'redirect'],
  [{ kind: 'hang' }, 'timeout'],
  [{ kind: 'resetBeforeHead' }, 'reset'],
  [{ kind: 'raw', bytes: 'hello\r\n\r\n' }, 'bad_answer'],
];

describe.each(['/chat/completions', '/messages'])('%s', (path) => {
  test.each(failures)(
    '%j is counted as %s, and the log of the request names it',
    async (behaviour, outcome) => {
      first.respondWith('/chat/completions', behaviour);
      expect(await call(path, 'm', false)).toBe(200);
      expect(gateway.attempted).toEqual([`default/first ${outcome}`, 'default/second ok']);
      const record = records().find(({ msg }) => msg === 'Answered a request');
      const said = 'status' in behaviour ? ` (${behaviour.status})` : '';
      expect(record).toMatchObject({
        level: 'info',
        attempts: 2,
        node: 'default/second',
        failed: [expect.stringContaining(`default/first: ${outcome}${said}`)],
      });
    },
  );

  test('what no node could do is logged as a warning', async () => {
    for (const upstream of [first, second]) upstream.respondWith('/chat/completions', status(503));
    expect([503, 529]).toContain(await call(path, 'm', true));
    expect(gateway.attempted).toEqual(['default/first server_error', 'default/second server_error']);
    expect(records().find(({ msg }) => msg === 'Answered a request')).toMatchObject({
      level: 'warn',
      failed: ['default/first: server_error (503)', 'default/second: server_error (503)'],
    });
  });

  test.each<[Behaviour, string]>([
    [{ kind: 'resetMidStream', chunks: 2 }, 'reset'],
    [{ kind: 'endMidStream', chunks: 2 }, 'bad_answer'],
    [{ kind: 'hangMidStream', chunks: 2 }, 'timeout'],
  ])('a stream that ends by %j counts as %s, and five open the circuit', async (behaviour, outcome) => {
    first.respondWith('/chat/completions', behaviour);
    await Promise.all(Array.from({ length: 5 }, () => call(path, 'm', true)));
    expect(gateway.attempted).toEqual(Array(5).fill(`default/first ${outcome}`));
    expect(gateway.gateway.openCircuits()).toBe(1);
    expect(records().filter(({ msg }) => String(msg).startsWith('A circuit opened'))).toEqual([
      expect.objectContaining({
        level: 'warn',
        node: 'default/first',
        model: 'm',
        why: 'answers break off',
        seconds: 30,
      }),
    ]);
    // What the socket failed by, where it did.
    const codes = records().filter(({ msg }) => String(msg).startsWith('An answer broke off'));
    expect(codes.map(({ code }) => code)).toEqual(
      Array(5).fill(outcome === 'reset' ? 'ECONNRESET' : undefined),
    );
  });

  test('an error that a node tells after content is counted, and opens nothing', async () => {
    first.respondWith('/chat/completions', { kind: 'errorInStream', chunks: 1, error: { message: 'no' } });
    for (let i = 0; i < 6; i++) await call(path, 'm', true);
    expect(gateway.attempted).toEqual(Array(6).fill('default/first server_error'));
    expect(gateway.gateway.openCircuits()).toBe(0);
  });

  test.each([
    ['before the answer', { kind: 'hang' }],
    ['in the middle of it', { kind: 'hangMidStream', chunks: 1 }],
  ] as const)('a caller that leaves %s is counted', async (_name, behaviour) => {
    first.respondWith('/chat/completions', behaviour);
    const leave = new AbortController();
    const asked = gateway.post(
      path,
      { model: 'm', stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
      { signal: leave.signal },
    );
    asked.catch(() => {});
    await first.waitFor((requests) => requests.length === 1);
    if (behaviour.kind === 'hangMidStream') await (await asked).body?.getReader().read();
    leave.abort();
    await eventually('it is counted', () => gateway.attempted.length === 1, 2000, 5);
    expect(gateway.attempted).toEqual(['default/first cancelled']);
  });

  test('the metric has the name that the node knows, not the alias', async () => {
    expect(await call(path, 'alias', false)).toBe(200);
    expect(gateway.done).toMatchObject([{ model: 'm', node: 'default/first' }]);
    expect(records().find(({ msg }) => msg === 'Answered a request')).toMatchObject({ model: 'alias' });
  });
});

test('a circuit that closes is told', async () => {
  first.respondWith('/chat/completions', [
    { kind: 'answer', status: 429, headers: { 'retry-after-ms': '50' }, body: {} },
  ]);
  await call('/chat/completions', 'm', false);
  await new Promise((resolve) => setTimeout(resolve, 60));
  await call('/chat/completions', 'm', false);
  expect(records().filter(({ msg }) => String(msg).startsWith('A circuit'))).toMatchObject([
    { level: 'warn', node: 'default/first', model: 'm', why: 'status 429', seconds: 1 },
    { level: 'info', node: 'default/first', model: 'm' },
  ]);
});
