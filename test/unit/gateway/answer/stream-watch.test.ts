import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventsIn } from '../../../../src/convert/sse-reader.ts';
import { SseSplitter } from '../../../../src/convert/sse-splitter.ts';
import { HeldStream } from '../../../../src/gateway/answer/held-stream.ts';
import { StreamWatch } from '../../../../src/gateway/answer/stream-watch.ts';
import { GatewayError } from '../../../../src/gateway/errors/errors.ts';

const noStart = { message: undefined, response: undefined };
const error = new GatewayError('upstream_error', 'It broke.');

/** Cuts `bytes` at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, i) => bytes.subarray(at[i - 1] ?? 0, end));
}

const stream = ': hi\n\nevent: a\ndata: {"x":"é"}\n\ndata: 1\ndata:2\nid: 7\n\nevent: b\n\ndata: [DONE]\n\n';
const endings = ['\n', '\r\n', '\r'];

test.each(endings)('events with line ends %j, cut anywhere', (ending) => {
  const bytes = Buffer.from(stream.replaceAll('\n', ending));
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 8 }), (places) => {
      const splitter = new SseSplitter();
      const events = cut(bytes, places).flatMap((piece) => eventsIn(splitter.take(piece)));
      expect(events.map(({ event, data, hasId }) => [event, data, hasId])).toEqual([
        ['', '', false],
        ['a', '{"x":"é"}', false],
        ['', '1\n2', true],
        ['b', '', false],
        ['', '[DONE]', false],
      ]);
      expect(splitter.kept).toBe(0);
    }),
    { numRuns: 100, seed: 7 },
  );
});

test.each([
  ['chat', 'data: {"choices":[{"finish_reason":null}]}\n\n', false],
  ['chat', 'data: {"choices":[{"finish_reason": "stop"}]}\n\ndata: {"usage":1}\n\n', true],
  ['chat', 'data: {"choices":[{"delta":{"content":"\\"finish_reason\\":\\"stop\\""}}]}\n\n', false],
  ['chat', 'data: [DONE]\n\n', true],
  ['chat', 'data:[DONE]\r\n\r\n', true],
  ['chat', 'data: {"error":{"message":"x"}}\n\n', true],
  [
    'messages',
    'event: content_block_delta\ndata: {"type":"content_block_delta","t":"message_stop"}\n\n',
    false,
  ],
  ['messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
  ['messages', 'data: {"type":"message_stop"}\n\n', true],
  ['messages', 'event: error\ndata: {}\n\n', true],
  ['responses', 'data: {"type":"response.output_text.delta","delta":"response.completed"}\n\n', false],
  [
    'responses',
    `event: response.completed\ndata: {"type":"response.completed","x":"${'y'.repeat(9000)}"}\n\n`,
    true,
  ],
  ['responses', 'data: {"type":"response.incomplete"}\n\n', true],
] as const)('%s may end after %j: %s', (format, text, complete) => {
  const whole = new StreamWatch(format, noStart, (bytes) => bytes);
  whole.take(Buffer.from(text));
  expect(whole.complete).toBe(complete);
  const halves = new StreamWatch(format, noStart, (bytes) => bytes);
  for (const piece of cut(Buffer.from(text), [text.length >> 1])) halves.take(piece);
  expect(halves.complete).toBe(complete);
});

test('a responses stream that breaks ends with the number after its last, and the id that it began with', () => {
  const held = new HeldStream('responses', 1000);
  const created = '{"type":"response.created","response":{"id":"resp_1","model":"m","created_at":7}}';
  expect(held.take(Buffer.from(`data: ${created}\n\n`))).toBe('hold');
  const watch = new StreamWatch('responses', held.start, (bytes) => bytes);
  expect(watch.broken(error)).toContain('"sequence_number":0,');
  watch.take(
    Buffer.from('data: {"type":"a","sequence_number":3}\n\ndata: {"type":"b","sequence_number":12}\n\n'),
  );
  expect(watch.broken(error)).toMatch(/"sequence_number":13,.*"sequence_number":14,.*"id":"resp_1"/s);
});

test.each(endings)('a stream with line ends %j passes by whole events, all of it, cut anywhere', (ending) => {
  const bytes = Buffer.from(`${stream}data: half`.replaceAll('\n', ending));
  const ends = /^$|(?:\n\n|\r\n\r\n?|\r\r)$/;
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 8 }), (places) => {
      const watch = new StreamWatch('chat', noStart, (bytes) => bytes);
      const passed: Buffer[] = [];
      for (const piece of cut(bytes, places)) {
        passed.push(watch.take(piece));
        expect(Buffer.concat(passed).toString()).toMatch(ends);
        expect(watch.atBoundary).toBe(true);
      }
      expect(Buffer.concat([...passed, watch.rest()]).equals(bytes)).toBe(true);
      expect(Buffer.concat(passed).length).toBe(bytes.length - 'data: half'.length);
    }),
    { numRuns: 100, seed: 7 },
  );
});

test('an event of more than 64 KiB goes out before its end, and is closed where it has none', () => {
  const watch = new StreamWatch('chat', noStart, (bytes) => bytes);
  expect(watch.take(Buffer.from('data: a\n\ndata: ')).toString()).toBe('data: a\n\n');
  const large = Buffer.alloc(65_536, 'x');
  expect(watch.take(large).toString()).toBe(`data: ${large}`);
  expect(watch.atBoundary).toBe(false);
  expect(watch.take(Buffer.from('y')).toString()).toBe('y');
  expect(watch.broken(error)).toMatch(/^\n\ndata: \{"error":/);
  expect(watch.take(Buffer.from('\n\ndata: b'))).toEqual(Buffer.from('\n\n'));
  expect(watch.atBoundary).toBe(true);
  expect(watch.broken(error)).toMatch(/^data: \{"error":/);
});

test('an event in many pieces is read once, not once for each piece', () => {
  const splitter = new SseSplitter();
  const piece = Buffer.from(`${'a'.repeat(255)}\n`);
  const started = performance.now();
  for (let i = 0; i < 4_000; i++) splitter.take(piece);
  // 1 MB: 2 GB are read if each piece brings all of it again, which takes seconds.
  expect(performance.now() - started).toBeLessThan(1_000);
  expect(splitter.take(Buffer.from('\n'))).toHaveLength(1_024_001);
});

test.each([
  ['\r', 16],
  ['x\n', 16],
  ['\n', 16],
  ['x:y\r\n', 16],
])('a megabyte of %j takes linear time, in pieces and as one event', (lines, count) => {
  const piece = Buffer.alloc(65_536, lines);
  piece[piece.length - 1] = 0x0d;
  const splitter = new SseSplitter();
  const started = performance.now();
  for (let i = 0; i < count; i++) eventsIn(splitter.take(piece));
  eventsIn(splitter.rest());
  expect(performance.now() - started).toBeLessThan(1_500);
});

test('a byte order mark does not hide the first event', () => {
  const bytes = Buffer.from('\ufeffdata: {"a":1}\n\n');
  for (const at of [0, 1, 2, 3, 5]) {
    const splitter = new SseSplitter();
    const events = [bytes.subarray(0, at), bytes.subarray(at)].flatMap((piece) =>
      eventsIn(splitter.take(piece)),
    );
    expect(events).toEqual([{ event: '', data: '{"a":1}', hasId: false }]);
  }
});
