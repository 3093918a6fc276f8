import { expect, test } from 'vitest';
import { inspect, withModel } from '../../../../src/gateway/admission/inspect.ts';
import { GatewayError } from '../../../../src/gateway/errors/errors.ts';

const options = { restricted: false, maxDepth: 100 };

function refusal(body: string | Buffer, restricted = false): string {
  try {
    inspect(Buffer.from(body), { ...options, restricted });
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${error.param}`;
    throw error;
  }
  return 'accepted';
}

test('reads model and stream', () => {
  expect(inspect(Buffer.from('{"model":"a/b","stream":true}'), options)).toMatchObject({
    model: 'a/b',
    stream: true,
  });
  expect(inspect(Buffer.from('{"model":"a","stream":null}'), options).stream).toBe(false);
  expect(
    inspect(Buffer.from('{"x":{"model":1,"stream":true},"\\u006dodel":"\\u0061"}'), options),
  ).toMatchObject({
    model: 'a',
    stream: false,
  });
});

test.each([
  ['{}', 'missing_parameter model'],
  ['{"messages":[{"model":"a"}]}', 'missing_parameter model'],
  ['{"model":"a","model":"a"}', 'invalid_value model'],
  ['{"model":"a","Model":"b"}', 'invalid_value model'],
  ['{"MODEL":"a"}', 'invalid_value model'],
  ['{"model":"a","\\u004dodel":"b"}', 'invalid_value model'],
  ['{"model":""}', 'invalid_value model'],
  ['{"model":null}', 'invalid_value model'],
  ['{"model":["a"]}', 'invalid_value model'],
  ['{"model":"a","stream":"yes"}', 'invalid_value stream'],
  ['{"model":"a","stream":1}', 'invalid_value stream'],
  ['', 'invalid_json null'],
  ['[]', 'invalid_json null'],
  ['{"model":"a"', 'invalid_json null'],
  [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'invalid_json null'],
  ['{"model":"a","models":["b"],"fallbacks":[]}', 'accepted'],
])('%s', (body, expected) => expect(refusal(body)).toBe(expected));

test.each(['models', 'fallbacks', 'Models', 'FALLBACKS', 'model\u017f', 'fallbac\u212as', '\\u006dodels'])(
  'a key with an allowlist may not send %s',
  (name) => {
    expect(refusal(`{"model":"a","${name}":["b"]}`, true)).toMatch(/^unsupported_parameter/);
    expect(refusal(`{"model":"a","x":{"${name}":["b"]}}`, true)).toBe('accepted');
  },
);

test('another model name replaces only its own bytes', () => {
  const text = '{ "messages" : [ "model", 1.50 ], "model" :  "al\\u0069as" , "seed":12345678901234567890 }';
  const body = Buffer.from(text);
  const inspection = inspect(body, options);
  expect(Buffer.concat(withModel(body, inspection, 'a"b')).toString()).toBe(
    text.replace('"al\\u0069as"', '"a\\"b"'),
  );
});

test('a long prompt costs less than JSON.parse', () => {
  const text = 'The quick brown fox "jumps" over the lazy dog.\n'.repeat(9000);
  const body = Buffer.from(
    JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }], stream: true }),
  );
  const time = (work: () => void): number => {
    for (let i = 0; i < 20; i++) work();
    const best: number[] = [];
    for (let i = 0; i < 20; i++) {
      const start = performance.now();
      work();
      best.push(performance.now() - start);
    }
    return Math.min(...best);
  };
  expect(time(() => inspect(body, options))).toBeLessThan(1.5 * time(() => JSON.parse(body.toString())));
});
