import { type BenchFormat, streamRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { type Comparison, compare, ratioOf } from '../comparison.ts';
import { convertedFormats, expectStream } from '../converted-answer.ts';
import { callerOf, streamChunks } from '../lab.ts';
import type { Expected } from '../load-connection.ts';
import { atLeast, type Result, type Row } from '../result.ts';
import { throughputNote } from './throughput.ts';

/** Chunks per second of 32 streams of one gateway: passed through as chat, converted to other formats. */
export const convertedStreams: Row = {
  name: 'converted-streams',
  run: async (lab) => {
    if (lab.options.gateway === 'bare') return [];
    const { upstream, options } = lab;
    const { pid, port } = await lab.gateway();
    const caller = callerOf({ port });
    const target = (format: BenchFormat, expected: Expected) => ({ pid, format, expected });
    const targets = [target('chat', { dataLines: upstream.streamLines })];
    for (const format of convertedFormats) {
      const whole = ' word'.repeat(streamChunks);
      const onDelta = () => upstream.advance(0);
      const request = streamRequest(caller, 'stream', 0, format);
      const expected = await expectStream(caller, request, format, { kind: 'text', whole, onDelta });
      targets.push(target(format, expected));
    }
    const measure = async (
      { format, expected }: (typeof targets)[number],
      milliseconds: number,
      onWindow: (edge: 'start' | 'end') => void,
    ) => {
      const { pieces, seconds } = await runClosedLoop({
        ...{ port, connections: 32, milliseconds, expected, onWindow },
        request: (number) => streamRequest(caller, 'stream', number, format),
        onPiece: upstream.advance,
      });
      return pieces / seconds;
    };
    lab.progress(`converted streams of ${streamChunks} chunks`);
    for (const one of targets) await measure(one, options.rewarmMilliseconds * 2, () => {});
    const comparison = await compare(targets, options.convertedRounds, (one, meter) =>
      measure(one, options.convertedMilliseconds, meter.mark),
    );
    return conversionResults('converted-streams', `chunks/s, streams of ${streamChunks}`, comparison);
  },
};

/** A line for each converted format, against the first target, which is passed through. */
export function conversionResults(row: string, measure: string, comparison: Comparison): Result[] {
  const [passed = Number.NaN] = comparison.medians;
  return convertedFormats.map((format, index) => {
    const ratio = ratioOf(comparison.rounds, index + 1, 0);
    const medians = [passed, comparison.medians[index + 1] ?? Number.NaN];
    return {
      ...{ row, measure: `${measure}: ${format} → chat ÷ passed through` },
      ...atLeast(0.6, ratio.ratio),
      ...{ note: throughputNote({ ...ratio, medians }), figures: { ...ratio, medians } },
    };
  });
}
