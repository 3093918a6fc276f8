import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withModel } from '../../../../src/gateway/admission/inspect.ts';
import { inspectForm } from '../../../../src/gateway/admission/inspect-form.ts';
import { GatewayError } from '../../../../src/gateway/errors/errors.ts';

const options = { boundary: 'b', maxParts: 10, maxHeaderBytes: 500 };

function refusal(body: string | Buffer, restricted = false): string {
  try {
    inspectForm(Buffer.from(body), options, restricted);
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${error.param}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const withHead = (head: string, value = 'x'): string => `--b\r\n${head}\r\n\r\n${value}\r\n`;
const named = (rest: string, value = 'x'): string =>
  withHead(`Content-Disposition: form-data; ${rest}`, value);
const model = field('model', 'whisper');
const file = named('name="file"; filename="a.wav"\r\nContent-Type: audio/wav', 'RIFF\r\n\r\n--\r\n\0\xff');
const end = '--b--\r\n';

// As httpx, browsers and undici, .NET, OkHttp, Apache's client and curl write them.
test.each([
  ['a field and a file', file + model + end],
  ['no line end at the end', `${model + file}--b--`],
  [
    'names without quotes',
    `${named('name=model', 'whisper') + named("name=file; filename=a.wav; filename*=utf-8''a.wav") + end}`,
  ],
  [
    'a type',
    withHead(
      'Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model',
      'whisper',
    ) + end,
  ],
  [
    'a length',
    withHead('content-disposition: form-data; name="model"\r\ncontent-length: 7', 'whisper') + end,
  ],
  [
    'an encoding',
    withHead('Content-Disposition:form-data;name="model"\r\nContent-Transfer-Encoding: 8bit', 'whisper') +
      end,
  ],
  [
    'arrays',
    field('timestamp_granularities[]', 'word') + field('timestamp_granularities[]', 'segment') + model + end,
  ],
  ['other models, without an allowlist', model + field('models', 'x') + end],
  ['the file name model', named('name="file"; filename="model"') + model + end],
  ['a file name in UTF-8', named('name="file"; filename="Grüße = 1.wav"') + model + end],
])('%s', (_name, body) => {
  expect(inspectForm(Buffer.from(body), options, false)).toMatchObject({ model: 'whisper', stream: false });
});

describe('the model', () => {
  test.each([
    ['missing', file, 'missing_parameter model'],
    ['twice', model + model, 'invalid_value model: .* has 2 of them'],
    ['twice, once with a capital', model + field('Model', 'x'), 'invalid_value model: .* has 2'],
    ['with a capital', field('MODEL', 'x'), 'invalid_value model: .* has "MODEL"'],
    ['a list', field('model[]', 'x'), 'invalid_value model: .* has "model\\[\\]"'],
    ['and a list', model + field('model[0]', 'x'), 'invalid_value model: .* has 2'],
    ['and an object', model + field('model.name', 'x'), 'invalid_value model: .* has 2'],
    ['a file', named('name="model"; filename="a"'), 'invalid_value model: .* is a file'],
    [
      'a file by its other name',
      named('name="model"; filename*=utf-8\'\'a'),
      'invalid_value model: .* is a file',
    ],
    [
      'JSON',
      withHead('Content-Type: application/json\r\nContent-Disposition: form-data; name="model"', '"x"'),
      'invalid_value model: .* content-type',
    ],
    [
      'with another name in its type',
      withHead('Content-Type: text/plain; name=x\r\nContent-Disposition: form-data; name="model"'),
      'invalid_value model: .* content-type',
    ],
    ['empty', field('model', ''), 'invalid_value model: .* is empty'],
    ['a line', field('model', 'x\r\n'), 'invalid_value model: .* white space'],
    ['two lines', field('model', 'x\ny'), 'invalid_value model: .* control character'],
    ['long', field('model', 'x'.repeat(2049)), 'invalid_value model: .* longer'],
  ])('%s', (_name, body, expected) => expect(refusal(body + end)).toMatch(new RegExp(`^${expected}`)));

  test('not UTF-8', () => {
    const body = Buffer.from(field('model', '\xff') + end, 'latin1');
    expect(refusal(body)).toMatch(/^invalid_value model: .* UTF-8/);
  });
});

test.each(['models', 'fallbacks', 'Models', 'FALLBACKS', 'models[]', 'fallbacks[0]', 'models.x'])(
  'a key with an allowlist may not send %s',
  (name) => {
    expect(refusal(model + field(name, 'x') + end, true)).toMatch(/^unsupported_parameter/);
    expect(refusal(model + field(name, 'x') + end, false)).toBe('accepted');
    expect(refusal(model + field(`a${name}`, 'x') + end, true)).toBe('accepted');
  },
);

// Each of these is read differently by some parser, or is no form at all.
test.each([
  ['empty', '', 'it is empty'],
  ['text before the first part', `x\r\n${model}${end}`, 'begin with the boundary'],
  ['a line end before the first part', `\r\n${model}${end}`, 'begin with the boundary'],
  ['another boundary', '--c\r\n\r\n--c--', 'begin with the boundary'],
  ['text after the last part', `${model}${end}x`, 'more text after'],
  ['a part after the last one', `${model}${end}${field('model', 'y')}${end}`, 'more text after'],
  ['the boundary in a value', `${field('x', 'a--b')}${model}${end}`, 'no part begins or ends'],
  [
    'the boundary on a line of its own kind',
    `${field('x', 'a\n--b\nContent-Disposition: form-data; name="model"\n\ny')}${model}${end}`,
    'no part begins or ends',
  ],
  [
    'the boundary with more letters',
    `${field('x', 'a\r\n--bc\r\n')}${model}${end}`,
    'no part begins or ends',
  ],
  [
    'white space after the boundary',
    `--b \r\nContent-Disposition: form-data; name="model"\r\n\r\nx\r\n${end}`,
    'no part begins or ends',
  ],
  [
    'the boundary in a header',
    `${named('name="x"; filename="--b"')}${model}${end}`,
    'no part begins or ends',
  ],
  ['lines that end with LF', model.replaceAll('\r\n', '\n') + end, 'no part begins or ends'],
  ['a header that ends with LF', model.replace('\r\n\r\n', '\nX: y\r\n\r\n') + end, 'each on one line'],
  ['a folded header', withHead('Content-Disposition: form-data;\r\n name="model"') + end, 'each on one line'],
  [
    'a blank before the colon',
    withHead('Content-Disposition : form-data; name="model"') + end,
    'each on one line',
  ],
  [
    'another header',
    withHead('Content-Disposition: form-data; name="model"\r\nX: y') + end,
    'each on one line',
  ],
  [
    'two dispositions',
    withHead('Content-Disposition: form-data; name="x"\r\ncontent-disposition: form-data; name="model"') +
      end,
    'content-disposition twice',
  ],
  ['no disposition', withHead('Content-Type: text/plain') + end, 'no content-disposition'],
  ['no headers', '--b\r\n\r\nx\r\n--b--', 'no content-disposition'],
  ['no value', '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n--b--', 'no part begins or ends'],
  [
    'another disposition',
    withHead('Content-Disposition: attachment; name="model"') + end,
    'must be form-data',
  ],
  ['no name', withHead('Content-Disposition: form-data') + end, 'must be form-data'],
  ['two names', named('name="x"; name="model"') + end, 'must be form-data'],
  ['a name of two kinds', named('name="x"; name*=utf-8\'\'model') + end, 'must be form-data'],
  ['an extended name', named("name*=utf-8''model") + end, 'must be form-data'],
  ['a name in pieces', named('name*0=mo; name*1=del') + end, 'must be form-data'],
  ['an escape in a name', named('name="mo\\del"') + end, 'must be form-data'],
  ['a percent in a name', named('name="%6dodel"') + end, 'must be form-data'],
  ['an encoded word', named('name="=?utf-8?q?model?="') + end, 'must be form-data'],
  ['blanks around a name', named('name=" model"') + end, 'must be form-data'],
  ['a text after the quotes', named('name="mod"el') + end, 'must be form-data'],
  ['single quotes', named("name='model'") + end, 'must be form-data'],
  // Werkzeug and others end the name there, so that it is `model` for them.
  ['a bracket in a name without quotes', model + named('name=model]', 'x') + end, 'must be form-data'],
  ['a bracket that was not opened', model + named('name="model]"', 'x') + end, 'must be form-data'],
  ['a bracket that is not closed', model + named('name="model["', 'x') + end, 'must be form-data'],
  ['a bracket within a bracket', model + named('name="model[[]]"', 'x') + end, 'must be form-data'],
  ['an empty name', named('name=""') + end, 'must be form-data'],
  ['a name of the laxest folding', named('name="mode\u2113"') + end, 'must be form-data'],
  ['a capital in the parameter', named('Name="model"') + end, 'must be form-data'],
  ['a parameter that is not known', named('name="x"; model="y"') + end, 'must be form-data'],
  ['the file name first', named('filename="model"; name="x"') + end, 'must be form-data'],
  ['a semicolon in a file name', named('name="x"; filename="a;name=model;b"') + end, 'must be form-data'],
  ['a quote in a file name', named('name="x"; filename="a\\"; name=\\"model"') + end, 'must be form-data'],
  [
    'a line end in a file name',
    named('name="x"; filename="a\r\nContent-Disposition: form-data; name=model\r\n\r\n"') + end,
    'content-disposition twice',
  ],
  ['NUL in a file name', named('name="x"; filename="a\0"') + end, 'each on one line'],
  [
    'a wrong length',
    withHead('Content-Disposition: form-data; name="x"\r\nContent-Length: 5') + end,
    'not its length',
  ],
  [
    'a length with a sign',
    withHead('Content-Disposition: form-data; name="x"\r\nContent-Length: +1') + end,
    'not its length',
  ],
  [
    'base64',
    withHead('Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64') + end,
    'content-transfer-encoding',
  ],
  [
    'quoted-printable',
    withHead('Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: quoted-printable') +
      end,
    'content-transfer-encoding',
  ],
  [
    'nested',
    withHead('Content-Disposition: form-data; name="x"\r\nContent-Type: multipart/mixed; boundary=c') + end,
    'itself multipart',
  ],
  [
    'another charset',
    withHead('Content-Disposition: form-data; name="x"\r\nContent-Type: text/plain; charset=utf-7') + end,
    'charset',
  ],
  ['_charset_', field('_charset_', 'utf-16') + model + end, '_charset_'],
  ['too many parts', field('x', 'y').repeat(10) + model + end, 'more than 10 parts'],
  ['long headers', named(`name="x"; filename="${'y'.repeat(500)}"`) + model + end, 'more than 500 bytes'],
])('refused: %s', (_name, body, reason) => {
  expect(refusal(body)).toMatch(/^invalid_multipart null: The multipart body is not valid: /);
  expect(refusal(body)).toContain(reason);
});

test('a header of blanks takes no time', () => {
  const roomy = { ...options, maxHeaderBytes: 8_192 };
  const body = Buffer.from(withHead(`Content-Type:${' '.repeat(8_000)}\0`) + end);
  const started = performance.now();
  expect(() => inspectForm(body, roomy, false)).toThrow(/each on one line/);
  expect(performance.now() - started).toBeLessThan(500);
});

test('headers that are not UTF-8', () => {
  const body = Buffer.from(named('name="x"; filename="\xff"') + model + end, 'latin1');
  expect(refusal(body)).toContain('not UTF-8');
});

test('cut off at any byte', () => {
  const whole = file + model + end;
  const accepted = Array.from({ length: whole.length }, (_, length) => length).filter(
    (length) => refusal(Buffer.from(whole, 'latin1').subarray(0, length)) === 'accepted',
  );
  // Without the line end after the last boundary it is complete.
  expect(accepted).toEqual([whole.length - 2]);
  expect(refusal(whole.slice(0, -10))).toContain('it ends before its last boundary');
});

describe('another model name', () => {
  const renamed = (body: string, name: string): string => {
    const bytes = Buffer.from(body, 'latin1');
    return Buffer.concat(withModel(bytes, inspectForm(bytes, options, false), name)).toString('latin1');
  };

  test('replaces only its own bytes', () => {
    expect(renamed(file + model + end, 'org/whisper-3')).toBe(file + field('model', 'org/whisper-3') + end);
  });

  test('and its length, if the part has one', () => {
    const sized = (name: string) =>
      withHead(`Content-Length: ${name.length}\r\nContent-Disposition: form-data; name="model"`, name);
    expect(renamed(sized('7') + file + end, 'org/whisper-3')).toBe(sized('org/whisper-3') + file + end);
  });

  test('that holds the boundary is refused', () => {
    expect(() => renamed(model + end, 'x--b')).toThrow(/choose another boundary/);
  });
});

// Node.js's own parser follows the Fetch standard, not this code.
test('what is accepted has the same model for another parser', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        '--b',
        '--',
        '\r\n',
        '\r',
        '\n',
        '\r\n\r\n',
        'model',
        'Model',
        'models',
        ';',
        '"',
        '\\',
        '=',
        ' ',
        '\t',
      ],
      ...[
        'Content-Disposition: ',
        'form-data; ',
        'name="',
        'name=',
        'filename="',
        'filename*=',
        'Content-Type: text/plain',
      ],
      ...[model, file, field('x', 'y'), end, field('model', 'other'), named('name=model', 'other')],
    ),
    fc.string({ maxLength: 3 }),
  );
  const body = fc
    .record({
      start: fc.constantFrom(model, file + model, model + file),
      cuts: fc.array(
        fc.record({ at: fc.nat(400), removed: fc.nat(8), added: fc.array(piece, { maxLength: 3 }) }),
        {
          maxLength: 3,
        },
      ),
    })
    .map(({ start, cuts }) => {
      let text = start + end;
      for (const { at, removed, added } of cuts) {
        const place = at % text.length;
        text = text.slice(0, place) + added.join('') + text.slice(place + removed);
      }
      return text;
    });
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const bytes = Buffer.from(text);
      if (refusal(bytes) !== 'accepted') return;
      const type = { 'content-type': 'multipart/form-data; boundary=b' };
      const form = await new Response(bytes, { headers: type }).formData().catch(() => undefined);
      // A node that refuses the body reads no model.
      if (form === undefined) return;
      accepted += 1;
      expect(form.getAll('model')).toEqual([inspectForm(bytes, options, false).model]);
    }),
    { numRuns: 1000, seed: 1 },
  );
  expect(accepted).toBeGreaterThan(100);
});
