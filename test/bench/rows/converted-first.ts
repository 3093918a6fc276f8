import { type BenchFormat, streamRequest } from '../bench-requests.ts';
import { convertedFormats } from '../converted-answer.ts';
import { streamDelta, streamEnd, streamStartOf } from '../fast-upstream.ts';
import { callerOf } from '../lab.ts';
import type { Expected } from '../load-connection.ts';
import { below, type Row } from '../result.ts';
import { median, percentile } from '../statistics.ts';
import { runStreamsInTurn } from '../streams-in-turn.ts';

/** Streams of each turn, and turns of each format. */
const [streamsOfTurn, turns] = [40, 6] as const;
const formats: readonly BenchFormat[] = ['chat', ...convertedFormats];
const delta = streamDelta({ content: ' word' });
/** One chunk, and nothing more before the caller has it: an answer that waits for the next one would wait for ever. */
const script = { start: streamStartOf(delta), piece: delta, pieces: 0, end: streamEnd };

/** Time from the upstream's first chunk to the caller's first event, beside that of a stream that is passed through. */
export const convertedFirst: Row = {
  name: 'converted-first',
  run: async (lab) => {
    const { upstream, options } = lab;
    if (options.gateway === 'bare') return [];
    const { port } = await lab.gateway();
    lab.progress('first event of a converted stream');
    const delays = new Map<BenchFormat, number[]>(formats.map((format) => [format, []]));
    const measure = async (format: BenchFormat, number: number, into: number[]) => {
      const request = streamRequest(callerOf({ port }), 'stream', number, format);
      // The end is checked by the rows that count; here only that there is one.
      const expected: Expected = {};
      let written = Number.NaN;
      upstream.script(number, script);
      upstream.onStart = () => {
        written = performance.now();
      };
      const onLine = (line: number) => {
        if (line > 0) return;
        into.push(performance.now() - written);
        upstream.advance(number);
      };
      await runStreamsInTurn({ port, number, request, expected, streams: streamsOfTurn, onLine });
      upstream.onStart = undefined;
      upstream.script(number, undefined);
    };
    for (const [index, format] of formats.entries()) await measure(format, 600_000 + index, []);
    for (let turn = 0; turn < turns; turn++) {
      const order = turn % 2 === 0 ? formats : formats.toReversed();
      for (const format of order) await measure(format, 600_000 + turn, delays.get(format) ?? []);
    }
    const passed = median(delays.get('chat') ?? []);
    return convertedFormats.map((format) => {
      const values = delays.get(format) ?? [];
      const [middle, p99] = [median(values), percentile(values, 0.99)];
      return {
        ...{
          row: 'converted-first',
          measure: `first event over one that is passed through, ${format} → chat`,
        },
        // No timer of Node.js is shorter.
        ...below(1, middle - passed, 'ms'),
        note: `median ${middle.toFixed(2)} ms : ${passed.toFixed(2)} ms; p99 ${p99.toFixed(2)} ms`,
        figures: { median: middle, p99, passed },
      };
    });
  },
};
