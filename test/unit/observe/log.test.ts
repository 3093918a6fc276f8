import { expect, test } from 'vitest';
import { createLog, type LogFormat } from '../../../src/observe/log.ts';

function logTo(format: LogFormat, level: 'debug' | 'info' = 'info') {
  const lines: string[] = [];
  const log = createLog({ level, format, role: 'test', destination: { write: (line) => lines.push(line) } });
  return { log, lines };
}

test('a record is one JSON line with time, level, role and fields', () => {
  const { log, lines } = logTo('json');
  log.info({ namespace: 'ns' }, 'Synced UpstreamNode');
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    role: 'test',
    namespace: 'ns',
    msg: 'Synced UpstreamNode',
  });
});

test('text is for people', () => {
  const { log, lines } = logTo('text');
  log.warn({ file: 'a b.yaml', line: 3 }, 'Bad manifest');
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d warn {2}Bad manifest file="a b.yaml" line=3\n$/);
});

test('what may be a credential is left out, in nested objects and lists; the objects themselves stay as they were', () => {
  const { log, lines } = logTo('json');
  const fields = {
    headers: { authorization: 'Bearer planted', accept: 'x' },
    node: { spec: { apiKey: 'planted', list: [{ token: 'planted' }] } },
    credential: 'planted',
    value: 'shown',
  };
  log.info(fields, 'Logged too much');
  expect(lines[0]).not.toContain('planted');
  expect(lines[0]).toContain('"accept":"x"');
  expect(lines[0]).toContain('"value":"shown"');
  expect(fields.headers.authorization).toBe('Bearer planted');
});

test('an error is name, code and message, with its causes; what else it carries is not logged', () => {
  const cause = Object.assign(new Error('inner'), { code: 'ECONNRESET', body: 'planted' });
  const error = Object.assign(new TypeError('outer', { cause }), { headers: { authorization: 'planted' } });
  const { log, lines } = logTo('json');
  log.error({ err: error }, 'Failed');
  expect(JSON.parse(lines[0] ?? '').err).toEqual({
    name: 'TypeError',
    message: 'outer',
    cause: { name: 'Error', message: 'inner', code: 'ECONNRESET' },
  });
  const debug = logTo('json', 'debug');
  debug.log.error({ err: error }, 'Failed');
  expect(JSON.parse(debug.lines[0] ?? '').err.stack).toContain('log.test.ts');
});

test.each(['json', 'text'] as const)('no text breaks out of its line or steers a terminal: %s', (format) => {
  const { log, lines } = logTo(format);
  const planted = '\u001b[2J\u009b2K\r\n{"level":"error"}\u2028\u202e\u0085\u007f\ufeff\u0000';
  log.warn(
    { file: planted, bare: '\u001b[31m', nested: { list: [planted] }, err: new Error(planted) },
    'Told',
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]*\n$/u);
  if (format === 'json') {
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ file: planted, err: { message: planted } });
  }
});
