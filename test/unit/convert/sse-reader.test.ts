import { describe, expect, it } from 'vitest';
import { type SseEvent, SseReader } from '../../../src/convert/sse-reader.ts';
import { computedMs } from '../../support/computed.ts';

function read(bytes: Uint8Array, size = bytes.length): unknown[] {
  const reader = new SseReader();
  const events: SseEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) events.push(...reader.push(bytes.subarray(at, at + size)));
  return [...events, ...reader.end()].map(({ event, data }) => ({ event, data }));
}

const cases: readonly [name: string, stream: string, events: readonly [event: string, data: string][]][] = [
  [
    'LF',
    'data: a\n\ndata: b\n\n',
    [
      ['', 'a'],
      ['', 'b'],
    ],
  ],
  [
    'CRLF',
    'data: a\r\n\r\ndata: b\r\n\r\n',
    [
      ['', 'a'],
      ['', 'b'],
    ],
  ],
  [
    'CR',
    'data: a\r\rdata: b\r\r',
    [
      ['', 'a'],
      ['', 'b'],
    ],
  ],
  ['no space after the colon', 'data:a\n\n', [['', 'a']]],
  ['only one space removed', 'data:  a\n\n', [['', ' a']]],
  ['several data lines joined', 'data: a\ndata: b\n\n', [['', 'a\nb']]],
  ['byte order mark', '\uFEFFdata: a\n\n', [['', 'a']]],
  ['comments', ': OPENROUTER PROCESSING\n\ndata: a\n\n:\n\n', [['', 'a']]],
  ['id and retry', 'id: 1\nretry: 5\ndata: a\n\nid: 2\n\n', [['', 'a']]],
  [
    'event name',
    'event: error\ndata: a\n\ndata: b\n\n',
    [
      ['error', 'a'],
      ['', 'b'],
    ],
  ],
  ['empty data', 'data:\n\ndata\n\ndata: a\n\n', [['', 'a']]],
  [
    'flush at the end',
    'data: a\n\ndata: b',
    [
      ['', 'a'],
      ['', 'b'],
    ],
  ],
  ['flush after a lone CR', 'data: a\r', [['', 'a']]],
  ['multi-byte characters', 'data: grüße 日本 🎉\n\n', [['', 'grüße 日本 🎉']]],
  ['nothing', '', []],
];

describe('SseReader', () => {
  it.each(cases)('reads %s, cut anywhere', (_, stream, expected) => {
    const bytes = Buffer.from(stream);
    const events = expected.map(([event, data]) => ({ event, data }));
    for (const size of [1, 2, 3, 5, bytes.length || 1]) expect(read(bytes, size)).toEqual(events);
  });

  it('6.47 keeps multi-byte characters whole across chunks', () => {
    expect(read(Buffer.from('data: é🎉\n\n'), 1)).toEqual([{ event: '', data: 'é🎉' }]);
  });

  it('6.48 parses CRLF and data without a space', () => {
    expect(read(Buffer.from('data:{"a":1}\r\n\r\n'), 1)).toEqual([{ event: '', data: '{"a":1}' }]);
  });

  it('6.49 does not take `: OPENROUTER PROCESSING` for data', () => {
    expect(read(Buffer.from(': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n'))).toEqual([]);
  });

  it('makes U+FFFD of bytes that are no UTF-8', () => {
    expect(read(Buffer.from([...Buffer.from('data: a'), 0xff, 0xc3, 0x0a, 0x0a]))).toEqual([
      { event: '', data: 'a\uFFFD\uFFFD' },
    ]);
  });

  it('refuses a line that never ends', () => {
    const reader = new SseReader();
    const piece = Buffer.alloc(1024 * 1024, 'x');
    expect(() => {
      for (let i = 0; i < 20; i++) reader.push(piece);
    }).toThrowError(expect.objectContaining({ kind: 'oversize' }));
  });

  it('reads a megabyte on one line that comes in small pieces in linear time', () => {
    const bytes = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}\n\n`);
    const started = computedMs();
    expect(read(bytes, 100)).toHaveLength(1);
    expect(computedMs() - started).toBeLessThan(1_500);
  });
});
