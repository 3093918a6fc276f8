import { describe, expect, test } from 'vitest';
import { type AccessLogChoice, type AccessRecord, createAccessLog } from '../../../src/observe/access-log.ts';
import type { LogLevel } from '../../../src/observe/log.ts';
import { createRequestRecord } from './request-record.ts';

const good: AccessRecord = {
  ...createRequestRecord({ model: 'm', node: 'ns/n', durationMs: 12.4 }),
  requestId: 'req_1',
  key: 'ns/k',
  asked: 'm',
  failed: undefined,
  conversion: undefined,
  dropped: undefined,
  broke: undefined,
  errorMessage: undefined,
  traceId: undefined,
};

function logTo(choice: AccessLogChoice, level: LogLevel = 'info', random = () => 0.5) {
  const lines: string[] = [];
  const clock = { ms: Date.UTC(2026, 0, 1) };
  const write = (line: string) => void lines.push(line);
  const log = createAccessLog({ choice, level, role: 'gateway', write, now: () => clock.ms, random });
  return { log, lines, clock };
}

test('a line is one JSON object with what an operator asks for', () => {
  const { log, lines } = logTo('all');
  log({
    ...good,
    asked: 'alias',
    attempts: 2,
    failed: ['ns/bad: timeout'],
    firstContentMs: 3.6,
    bytesIn: 10,
    bytesOut: 20,
    tokens: { input: 5, output: 6, cached: 0, reasoning: 2 },
    conversion: 'messages->chat',
    dropped: ['thinking'],
    broke: 'reset',
    traceId: 'abc',
  });
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'info',
    time: '2026-01-01T00:00:00.000Z',
    role: 'gateway',
    requestId: 'req_1',
    route: '/v1/chat/completions',
    status: 200,
    durationMs: 12,
    firstContentMs: 4,
    key: 'ns/k',
    model: 'alias',
    nodeModel: 'm',
    node: 'ns/n',
    attempts: 2,
    bytesIn: 10,
    bytesOut: 20,
    inputTokens: 5,
    outputTokens: 6,
    reasoningTokens: 2,
    conversion: 'messages->chat',
    dropped: ['thinking'],
    failed: ['ns/bad: timeout'],
    broke: 'reset',
    traceId: 'abc',
    msg: 'Answered a request',
  });
  log({ ...good, status: 499, key: undefined, asked: undefined, node: undefined, model: undefined });
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ callerGone: true });
});

describe('which requests have a line', () => {
  const failures: Partial<AccessRecord>[] = [
    { status: 401, errorCode: 'key_unknown', errorMessage: 'x' },
    { status: 499 },
    { attempts: 2 },
    { broke: 'reset' },
    { status: 503 },
  ];
  test.each<[AccessLogChoice, LogLevel, number, number]>([
    ['all', 'info', 1, 5],
    ['failed', 'info', 0, 5],
    ['off', 'debug', 0, 0],
    [0.6, 'info', 1, 5],
    [0.4, 'info', 0, 5],
    ['failed', 'debug', 1, 5],
    ['all', 'warn', 0, 1],
    ['all', 'error', 0, 0],
  ])('%j at level %s: %d of those that went well, %d of 5 others', (choice, level, well, badly) => {
    const { log, lines } = logTo(choice, level);
    log(good);
    expect(lines).toHaveLength(well);
    for (const failure of failures) log({ ...good, ...failure });
    expect(lines).toHaveLength(well + badly);
  });
});

test('no text breaks out of its line, steers a terminal, shows a key or has no end', () => {
  const { log, lines } = logTo('all');
  const hostile = 'a"\\\n\r\u0007\u001b[31m\u009b31m\u2028\u202e\ufeff{"level":"fatal"}';
  const key = `mgk_${'A'.repeat(49)}`;
  log({
    ...good,
    asked: hostile,
    dropped: Array.from({ length: 100 }, () => hostile.repeat(3)),
    errorCode: 'invalid_value',
    errorMessage: `${hostile} ${key} ${'x'.repeat(5000)}`,
  });
  const [line = ''] = lines;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e\ufeff]/);
  expect(line.length).toBeLessThan(3_000);
  expect(line).not.toContain(key);
  expect(JSON.parse(line)).toMatchObject({ model: hostile, error: 'invalid_value' });
});

test('a flood is cut, and its line says by how many', () => {
  const { log, lines, clock } = logTo('failed');
  for (let i = 0; i < 6_000; i++) log({ ...good, status: 401 });
  expect(lines).toHaveLength(5_000);
  clock.ms += 1_000;
  log({ ...good, status: 401 });
  expect(JSON.parse(lines[5_000] ?? '')).toMatchObject({
    level: 'warn',
    requests: 1_000,
    msg: 'Left requests out of the access log',
  });
  expect(lines).toHaveLength(5_002);
});
