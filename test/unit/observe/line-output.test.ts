import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLineOutput } from '../../../src/observe/line-output.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const busy = () => Object.assign(new Error('busy'), { code: 'EAGAIN' });
const full = () => Object.assign(new Error('full'), { code: 'ENOSPC' });

/** A reader that has room for so many bytes, and fails with `error` beyond. */
function newReader(room = Number.POSITIVE_INFINITY) {
  const reader = { room, text: '', writes: 0, dropped: 0, recovered: [] as number[], error: busy };
  const output = createLineOutput({
    take(bytes) {
      if (reader.room === 0) throw reader.error();
      const taken = bytes.subarray(0, reader.room);
      reader.room -= taken.length;
      reader.text += taken.toString('latin1');
      reader.writes += 1;
      return taken.length;
    },
    onDropped: (lines) => {
      reader.dropped += lines;
    },
    onRecovered: (lines) => {
      reader.recovered.push(lines);
      output.write(`left out ${lines}\n`);
    },
  });
  return { reader, output };
}

test('a line is written at once, behind those that wait for others', () => {
  const { reader, output } = newReader();
  output.writeLater('a\n');
  output.writeLater('b\n');
  expect(reader.text).toBe('');
  output.write('c\n');
  expect(reader).toMatchObject({ text: 'a\nb\nc\n', writes: 1 });
});

test('lines that may wait do so for a quarter of a second, or for 8 KB', () => {
  const { reader, output } = newReader();
  output.writeLater('a\n');
  vi.advanceTimersByTime(249);
  expect(reader.text).toBe('');
  vi.advanceTimersByTime(1);
  expect(reader.text).toBe('a\n');
  for (let i = 0; i < 9; i += 1) output.writeLater(`${'x'.repeat(999)}\n`);
  expect(reader.writes).toBe(2);
});

test('what a reader has no room for waits, from the very byte on, and in order', () => {
  const { reader, output } = newReader(3);
  output.write('one\n');
  output.writeLater('two\n');
  output.write('three\n');
  expect(reader.text).toBe('one');
  reader.room = 5;
  vi.advanceTimersByTime(20);
  expect(reader.text).toBe('one\ntwo\n');
  reader.room = Number.POSITIVE_INFINITY;
  vi.advanceTimersByTime(20);
  expect(reader).toMatchObject({ text: 'one\ntwo\nthree\n', dropped: 0, recovered: [] });
});

test('beyond a bound lines are dropped and counted, those of the access log first; it is said once, afterwards', () => {
  const { reader, output } = newReader(0);
  const line = `${'x'.repeat(1023)}\n`;
  for (let i = 0; i < 1_500; i += 1) output.writeLater(line);
  expect(reader.dropped).toBe(1_500 - 1_024);
  for (let i = 0; i < 1_500; i += 1) output.write(line);
  expect(reader.dropped).toBe(3_000 - 2_048);
  expect(reader.recovered).toEqual([]);
  reader.room = Number.POSITIVE_INFINITY;
  vi.advanceTimersByTime(20);
  expect(reader.text).toBe(`${line.repeat(2_048)}left out ${3_000 - 2_048}\n`);
  vi.advanceTimersByTime(1_000);
  output.write('next\n');
  expect(reader.text).toMatch(/left out \d+\nnext\n$/);
});

test('what cannot be written at all is dropped and counted, and nothing is thrown', () => {
  const { reader, output } = newReader(0);
  reader.error = full;
  output.write('a\n');
  output.writeLater('b\n');
  output.write('c\n');
  expect(reader).toMatchObject({ text: '', dropped: 3, recovered: [] });
  reader.room = Number.POSITIVE_INFINITY;
  output.write('d\n');
  expect(reader.text).toBe('d\nleft out 3\n');
});

test('at the end all is written that the reader takes within a second', () => {
  const { reader, output } = newReader();
  output.writeLater('last\n');
  output.end();
  expect(reader.text).toBe('last\n');
  reader.room = 0;
  output.write('never\n');
  const began = performance.now();
  output.end();
  expect(performance.now() - began).toBeLessThan(10_000);
});
