import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UpstreamError } from '../../../src/upstream/error.ts';
import { ResponseReader } from '../../../src/upstream/response-reader.ts';

/** What a reader tells of some pieces and, where `ends`, of the end of the connection after them. */
function read(pieces: readonly Buffer[], ends = false) {
  const heard = { status: 0, fields: [] as string[], body: '', completed: 0, error: '', reusable: false };
  const reader = new ResponseReader();
  reader.expect({
    onHead(status, headers) {
      heard.status = status;
      headers.forEach((name, value) => void heard.fields.push(`${name}: ${value}`));
    },
    onBody: (piece) => {
      heard.body += piece.toString('latin1');
    },
    onComplete: () => {
      heard.completed += 1;
    },
  });
  try {
    for (const piece of pieces) reader.take(piece);
    if (ends) reader.end();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    heard.error = error.code;
  }
  return { ...heard, reusable: reader.reusable };
}

const whole = (text: string) => [Buffer.from(text, 'latin1')];
const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

const complete: [name: string, text: string, body: string, reusable: boolean][] = [
  ['a length', `${ok}Content-Length: 3\r\n\r\nabc`, 'abc', true],
  ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length: 1\r\n\r\na', 'a', true],
  ['length 0', `${ok}content-length: 0\r\n\r\n`, '', true],
  ['a status without a body', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
  ['304 with a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n', '', true],
  ['chunks', `${chunked}3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n`, 'abc0123456789', true],
  ['chunk extensions', `${chunked}3;a="b;c"\r\nabc\r\n1 \r\nd\r\n0;x\r\n\r\n`, 'abcd', true],
  ['trailers', `${chunked}1\r\na\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n`, 'a', true],
  ['line ends in chunks', `${chunked}4\r\n\r\n\r\n\r\n0\r\n\r\n`, '\r\n\r\n', true],
  ['chunks, whatever the case', `${ok}transfer-encoding: cHUNked \r\n\r\n1\r\na\r\n0\r\n\r\n`, 'a', true],
  ['a connection that closes', `${ok}Connection: Close\r\ncontent-length: 1\r\n\r\na`, 'a', false],
  ['a list of options', `${ok}connection: x, close\r\ncontent-length: 1\r\n\r\na`, 'a', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', 'a', false],
  [
    'HTTP/1.0 that lasts',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\ncontent-length: 1\r\n\r\na',
    'a',
    true,
  ],
  [
    'interim answers',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${ok}content-length: 1\r\n\r\na`,
    'a',
    true,
  ],
  ['more than was asked for', `${ok}content-length: 1\r\n\r\nab`, 'a', false],
  ['a second answer', `${ok}content-length: 1\r\n\r\na${ok}content-length: 1\r\n\r\nb`, 'a', false],
  ['more behind chunks', `${chunked}0\r\n\r\n\r\n`, '', false],
];

describe('a response is complete', () => {
  test.each(complete)('with %s, however it is cut', (_name, text, body, reusable) => {
    const heard = read(whole(text));
    expect(heard).toMatchObject({ body, completed: 1, error: '', reusable });
    const bytes = Buffer.from(text, 'latin1');
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(read(single)).toEqual(heard);
    for (let at = 1; at < bytes.length; at++) {
      expect(read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(heard);
    }
  });

  test('when the connection ends, where nothing else says so', () => {
    const text = `${ok}content-type: text/plain\r\n\r\nabc`;
    expect(read(whole(text), false)).toMatchObject({ body: 'abc', completed: 0 });
    expect(read(whole(text), true)).toMatchObject({ body: 'abc', completed: 1, reusable: false });
  });

  test('whatever the sizes of chunks and pieces', () => {
    const parts = fc.array(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }), {
      maxLength: 8,
    });
    const property = fc.property(parts, fc.array(fc.nat(300), { maxLength: 6 }), (chunks, cuts) => {
      const framed = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
      const bytes = Buffer.from(`${chunked}${framed}0\r\n\r\n`, 'latin1');
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(read(pieces)).toMatchObject({ body: chunks.join(''), completed: 1, error: '', reusable: true });
    });
    fc.assert(property, { numRuns: 200, seed: 7 });
  });
});

test.each([
  ['not when it ended too early', `${ok}content-length: 3\r\n\r\nab`],
  ['not when it ended in a chunk', `${chunked}3\r\nab`],
  ['not when it ended between chunks', `${chunked}1\r\na\r\n`],
  ['not when it ended in the head', `${ok}content-`],
])('%s', (_name, text) => {
  expect(read(whole(text), true)).toMatchObject({ completed: 0, error: '' });
});

test.each([
  ['no HTTP', 'SSH-2.0-x\r\n'],
  ['another version', 'HTTP/2 200\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['line feeds alone', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n\r\n\r\n'],
  ['space before a colon', `${ok}content-length : 1\r\n\r\na`],
  ['a folded line', `${ok}x: a\r\n b\r\n\r\n`],
  ['a line without a colon', `${ok}x\r\n\r\n`],
  ['a control character', `${ok}x: a\0b\r\n\r\n`],
  ['a return before a line end', `${ok}x: a\r\r\n\r\n`],
  ['a return alone', `${ok}x: a\rcontent-length: 1\r\n\r\n`],
  ['a length and chunks', `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
  ['one length twice', `${ok}content-length: 1\r\nContent-Length: 1\r\n\r\n`],
  ['a length that is none', `${ok}content-length: +1\r\n\r\n`],
  ['a length beyond counting', `${ok}content-length: ${'9'.repeat(17)}\r\n\r\n`],
  ['a coding that nobody undoes', `${ok}transfer-encoding: gzip\r\n\r\nabc`],
  ['a coding before chunked', `${ok}transfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`],
  ['chunked twice', `${ok}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked in two fields', `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a coding that ends like chunked', `${ok}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ['a transfer-encoding that is empty', `${ok}transfer-encoding:\r\n\r\n`],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['status 000', 'HTTP/1.1 000 OK\r\ncontent-length: 0\r\n\r\n'],
  ['status 099', `HTTP/1.1 099 OK\r\n\r\n${ok}content-length: 0\r\n\r\n`],
  ['a chunk without a size', `${chunked}\r\n`],
  ['a size that is no number', `${chunked}0x1\r\n`],
  ['a size beyond counting', `${chunked}${'f'.repeat(13)}\r\n`],
  ['a chunk that is longer than its size', `${chunked}1\r\nab\r\n`],
  ['a size that ends by a line feed', `${chunked}1\na\r\n`],
  ['an extension with a line feed', `${chunked}1;x\n2\r\n`],
  ['a return without a line feed', `${chunked}1\rxa\r\n`],
  ['a trailer with a line feed', `${chunked}0\r\nx\ny\r\n\r\n`],
])('refuses %s', (_name, text) => {
  expect(read(whole(text))).toMatchObject({ error: 'protocol', completed: 0 });
  const bytes = Buffer.from(text, 'latin1');
  expect(read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toMatchObject({ error: 'protocol' });
});

test.each([
  ['a head', `${ok}x: ${'a'.repeat(70_000)}\r\n\r\n`],
  ['an extension', `${chunked}1;${'a'.repeat(70_000)}\r\n`],
  ['extensions of many chunks', `${chunked}${`1;${'a'.repeat(1_000)}\r\nx\r\n`.repeat(70)}`],
  ['trailers', `${chunked}0\r\n${'x: a\r\n'.repeat(20_000)}`],
])('refuses %s without end', (_name, text) => {
  expect(read(whole(text))).toMatchObject({ error: 'too_large', completed: 0 });
});

test('extensions that are not longer than the body are read, however long the answer is', () => {
  const chunk = `40;${'a'.repeat(60)}\r\n${'x'.repeat(64)}\r\n`;
  expect(read(whole(`${chunked}${chunk.repeat(5_000)}0\r\n\r\n`))).toMatchObject({ error: '', completed: 1 });
});

test('after `ignore` nothing more is reported, even from within a report', () => {
  const reader = new ResponseReader();
  const reports: string[] = [];
  reader.expect({
    onHead: () => {
      reports.push('head');
      reader.ignore();
    },
    onBody: () => void reports.push('body'),
    onComplete: () => void reports.push('complete'),
  });
  reader.take(Buffer.from(`${ok}content-length: 3\r\n\r\nabc`));
  expect(reports).toEqual(['head']);
});

test('keeps names in lower case and values without the space around them, each by itself', () => {
  const { fields } = read(
    whole(`${ok}X-A:  1 \t\r\nx-a:\r\nX_b: \xc3\xa0\r\n__proto__: p\r\ncontent-length: 0\r\n\r\n`),
  );
  expect(fields).toEqual(['x-a: 1', 'x-a: ', 'x_b: \xc3\xa0', '__proto__: p', 'content-length: 0']);
});

test.each([
  ['timeout=5, max=100', 5],
  ['max=100, timeout=30', 30],
  ['timeout=600', 600],
  ['timeout=601', 600],
  [`timeout=${'9'.repeat(400)}`, 600],
  ['timeout=soon', undefined],
])('reads keep-alive: %s', (value, seconds) => {
  const reader = new ResponseReader();
  const ignore = () => {};
  reader.expect({ onHead: ignore, onBody: ignore, onComplete: ignore });
  reader.take(Buffer.from(`${ok}keep-alive: ${value}\r\ncontent-length: 0\r\n\r\n`));
  expect(reader.keepAliveSeconds).toBe(seconds);
});
