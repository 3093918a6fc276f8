import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { endpoints } from '../../src/routing/caller-format.ts';
import { sampleRequests } from './sample-requests.ts';
import { almost, mangled } from './weird-json.ts';

/** What is written to one connection, in how many pieces, and how the caller leaves. */
export interface MalformedRequest {
  readonly kind: string;
  readonly bytes: Buffer;
  readonly pieces: number;
  readonly leave: 'wait' | 'end' | 'destroy';
}

const paths = Object.keys(sampleRequests);
/** Stands for the key, so that a printed case holds none. */
export const keyMark = 'KEY';

const path = fc.constantFrom(...paths);

/** Headers that are right, but for the length. */
function head(target: string, headers: readonly string[], eol = '\r\n'): string {
  return [`POST ${target} HTTP/1.1`, 'host: x', `authorization: Bearer ${keyMark}`, ...headers, '', ''].join(
    eol,
  );
}

function withLength(target: string, body: Buffer, headers: readonly string[] = []): Buffer {
  const lines = ['content-type: application/json', `content-length: ${body.length}`, ...headers];
  return Buffer.concat([Buffer.from(head(target, lines)), body]);
}

const body = path.chain((target) => {
  const texts = almost(sampleRequests[target] ?? []);
  return fc.record({
    target: fc.constant(target),
    content: fc.oneof(
      { weight: 4, arbitrary: texts.map((text) => Buffer.from(text)) },
      { weight: 1, arbitrary: mangled(texts) },
    ),
  });
});

const badBodies = body.map(({ target, content }) => withLength(target, content));

const formPath = fc.constantFrom(...endpoints.map((endpoint) => `/v1/${endpoint}`));
const formField = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n';
const formFile = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\u00ff\0\r\n';
const formType = fc.constantFrom(
  ...[
    'boundary=b',
    'boundary=b',
    'boundary=b',
    'boundary="b"',
    'boundary=c',
    'boundary=',
    'boundary=b; boundary=c',
  ],
  ...['charset=utf-16; boundary=b', "boundary*=utf-8''b", 'boundary=b\u00ff', ''],
);

const badForms = fc
  .record({
    target: formPath,
    type: formType,
    content: mangled(
      fc.constantFrom(`${formField}${formFile}--b--\r\n`, `${formFile}${formField}--b--`, '--b--', ''),
    ),
  })
  .map(({ target, type, content }) => {
    const lines = [`content-type: multipart/form-data; ${type}`, `content-length: ${content.length}`];
    return Buffer.concat([Buffer.from(head(target, lines), 'latin1'), content]);
  });

const oddHeader = fc.oneof(
  fc.constantFrom(
    ...[
      'content-length: 5',
      'Content-Length: +5',
      'content-length: -1',
      'content-length: 0x10',
      'content-length: 5, 5',
    ],
    ...[
      'content-length: 99999999999999999999',
      'content-length:',
      'content-length: 1 2',
      'content-length : 5',
    ],
    ...['transfer-encoding: chunked', 'transfer-encoding: chunked, chunked', 'transfer-encoding: xchunked'],
    ...[
      'Transfer-Encoding:\tchunked',
      'transfer-encoding: identity',
      'transfer-encoding : chunked',
      'transfer-encoding: gzip, chunked',
    ],
    ...[
      'x: a\r\n b',
      'x: a\r\n\tcontent-length: 7',
      'x: a\nb: c',
      'x: a\rb: c',
      ' x: y',
      ': empty',
      'no-colon',
      'x\0y: z',
      'x: \0',
      'x: \u007f',
    ],
    ...[
      'expect: 100-continue',
      'expect: 200-ok',
      'expect: 100-continue, x',
      'connection: upgrade',
      'upgrade: websocket',
      'upgrade: h2c',
    ],
    ...[
      'content-encoding: gzip',
      'content-encoding: br',
      'content-encoding: zstd',
      'content-encoding: gzip, gzip',
      'content-encoding: constructor',
    ],
    ...[
      'host: y',
      'host:',
      'host: a, b',
      'authorization: Bearer',
      'authorization: Basic eDp5',
      'x-api-key: x',
      'x-api-key:',
    ],
    ...[
      'content-type: text/plain',
      'content-type:',
      'content-type: application/json; charset=utf-16',
      'te: trailers',
      'trailer: x',
    ],
    ...[
      'anthropic-beta: \u00ff\u00fe',
      'idempotency-key: a\u0080b',
      'connection: close, x, host',
      'proxy-connection: x',
      'keep-alive: 1',
    ],
  ),
  fc.integer({ min: 1, max: 40_000 }).map((length) => `x-long: ${'y'.repeat(length)}`),
  fc
    .integer({ min: 1, max: 3_000 })
    .map((count) => Array.from({ length: count }, (_, i) => `x-${i}: y`).join('\r\n')),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
);

const badHeaders = fc
  .record({
    target: path,
    headers: fc.array(oddHeader, { minLength: 1, maxLength: 4 }),
    content: fc.constantFrom(
      '{"model":"m","messages":[]}',
      '',
      '0\r\n\r\n',
      '1b\r\n{"model":"m","messages":[]}\r\n0\r\n\r\n',
    ),
    eol: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    length: fc.boolean(),
  })
  .map(({ target, headers, content, eol, length }) =>
    Buffer.from(
      head(target, [...(length ? [`content-length: ${content.length}`] : []), ...headers], eol) + content,
      'latin1',
    ),
  );

const chunk = fc.oneof(
  fc.constantFrom(
    '5\r\nabcde\r\n',
    '0\r\n\r\n',
    'zz\r\n',
    '-1\r\n',
    '5;x=y\r\nabcde\r\n',
    '5\nabcde\n',
    '5 \r\nabcde\r\n',
  ),
  fc.constantFrom(
    'ffffffffffffffffff\r\n',
    '5\r\nabcdefgh\r\n',
    '5\r\nab',
    '0\r\nx: y\r\n\r\n',
    '0\r\nx\r\n\r\n',
    '\r\n',
    '0x5\r\nabcde\r\n',
  ),
  fc.integer({ min: 1, max: 20_000 }).map((length) => `1;${'e'.repeat(length)}\r\na\r\n`),
  fc.constant('1b\r\n{"model":"m","messages":[]}\r\n'),
);

const badChunks = fc
  .record({ target: path, chunks: fc.array(chunk, { maxLength: 5 }) })
  .map(({ target, chunks }) => Buffer.from(head(target, ['transfer-encoding: chunked']) + chunks.join('')));

const badLines = fc
  .record({
    method: fc.constantFrom(
      'GET',
      'POST',
      'PUT',
      'HEAD',
      'OPTIONS',
      'CONNECT',
      'TRACE',
      'PRI',
      'post',
      'PATCH',
      '',
      'G\0T',
      'DELETE',
    ),
    target: fc.oneof(
      fc.constantFrom(
        '/',
        '*',
        '',
        '//',
        '/v1',
        '/v1/models/%zz',
        '/v1/models/%00',
        '/v1/models/..%2f',
        '/v1/keys/%2e%2e/x',
        'http://x/v1/models',
      ),
      fc.constantFrom(
        '/v1/keys?limit=-1',
        '/v1/keys?limit=1&limit=2',
        '/v1/keys?after[]=x',
        '/v1/models?__proto__=1',
        '/v1/models#x',
        '/\u00ff',
      ),
      fc.string({ maxLength: 40 }).map((text) => `/v1/models/${text}`),
      fc.integer({ min: 1, max: 40_000 }).map((length) => `/${'a'.repeat(length)}`),
    ),
    version: fc.constantFrom(
      'HTTP/1.1',
      'HTTP/1.0',
      'HTTP/2.0',
      'HTTP/0.9',
      'http/1.1',
      '',
      'HTTP/1.1 x',
      'HTTP/11',
    ),
  })
  .map(({ method, target, version }) =>
    Buffer.from(
      `${method} ${target} ${version}\r\nhost: x\r\nauthorization: Bearer ${keyMark}\r\n\r\n`,
      'latin1',
    ),
  );

const good = withLength('/v1/chat/completions', Buffer.from('{"model":"m","messages":[]}'));
const pipelined = fc
  .array(fc.oneof(fc.constant(good), badBodies, badLines, badChunks), { minLength: 2, maxLength: 5 })
  .map((parts) => Buffer.concat(parts));

const encoded = fc
  .record({
    encoding: fc.constantFrom('gzip', 'deflate', 'br', 'zstd'),
    content: mangled(fc.constant(gzipSync('{"model":"m"}').toString('latin1'))),
  })
  .map(({ encoding, content }) =>
    withLength('/v1/chat/completions', content, [`content-encoding: ${encoding}`]),
  );

const truncated = fc
  .record({ bytes: fc.oneof(badBodies, badHeaders), share: fc.double({ min: 0, max: 1, noNaN: true }) })
  .map(({ bytes, share }) => bytes.subarray(0, Math.max(1, Math.floor(bytes.length * share))));

const garbage = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes));

const kinds: readonly (readonly [kind: string, weight: number, bytes: fc.Arbitrary<Buffer>])[] = [
  ['body', 10, badBodies],
  ['multipart', 3, badForms],
  ['headers', 5, badHeaders],
  ['chunks', 3, badChunks],
  ['request line', 2, badLines],
  ['pipelined', 2, pipelined],
  ['encoded', 2, encoded],
  ['truncated', 2, truncated],
  ['garbage', 1, garbage],
];

/** Anything that a careless or malicious caller may write. */
export const malformedRequest: fc.Arbitrary<MalformedRequest> = fc
  .oneof(
    ...kinds.map(([kind, weight, bytes]) => ({
      weight,
      arbitrary: bytes.map((made) => ({ kind, bytes: made })),
    })),
  )
  .chain(({ kind, bytes }) =>
    fc.record({
      kind: fc.constant(kind),
      bytes: fc.constant(bytes),
      pieces: fc.constantFrom(1, 1, 1, 2, 3),
      leave: fc.constantFrom<MalformedRequest['leave']>('wait', 'wait', 'wait', 'end', 'destroy'),
    }),
  );
