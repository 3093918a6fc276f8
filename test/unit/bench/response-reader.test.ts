import { expect, test } from 'vitest';
import { ResponseReader } from '../../bench/response-reader.ts';

const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n\ndata: no :)';
const chunked = (...pieces: string[]) =>
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n' +
  pieces.map((piece) => `${piece.length.toString(16)};x=1\r\n${piece}\r\n`).join('');

const cases: [string, string, { status: number; bodyBytes: number; dataLines: number }][] = [
  ['with a length', plain, { status: 200, bodyBytes: 12, dataLines: 0 }],
  [
    'without content',
    'HTTP/1.1 502 X\r\ncontent-length: 0\r\n\r\n',
    { status: 502, bodyBytes: 0, dataLines: 0 },
  ],
  [
    'chunked',
    `${chunked('data: a\n\n', 'event: x\ndata: data:\n\n: c\n\n\n')}0\r\n\r\n`,
    { status: 200, bodyBytes: 37, dataLines: 2 },
  ],
  [
    'chunked with lines across chunks and a trailer',
    `${chunked('da', 'ta: a\n', '\ndat', 'x\nda', 'ta: b\n\n')}0\r\nx-end: 1\r\n\r\n`,
    { status: 200, bodyBytes: 23, dataLines: 2 },
  ],
];

test.each(cases)('an answer %s is read whole and cut at every byte', (_name, text, expected) => {
  const bytes = Buffer.from(text);
  for (let cut = 0; cut < bytes.length; cut++) {
    const reader = new ResponseReader();
    // Twice on one connection: nothing of the first answer may be left in the second.
    for (let turn = 0; turn < 2; turn++) {
      if (cut > 0) expect(reader.read(bytes.subarray(0, cut))).toBe(false);
      expect(reader.read(bytes.subarray(cut))).toBe(true);
      const { status, bodyBytes, dataLines } = reader;
      expect({ cut, status, bodyBytes, dataLines }).toEqual({ cut, ...expected });
    }
  }
});

test('bytes after an answer are an error', () => {
  expect(() => new ResponseReader().read(Buffer.from(`${plain}x`))).toThrow(/1 bytes after its end/);
});
