import { streamRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { compare } from '../comparison.ts';
import { callerOf, streamChunks } from '../lab.ts';
import { atLeast, type Row } from '../result.ts';
import { idleLine, throughputNote } from './throughput.ts';

/** Chunks per second of 32 streams at a time, each answer of 200 chunks, one chunk of a stream under way at a time. */
export const streaming: Row = {
  name: 'streaming',
  run: async (lab) => {
    const { rounds, roundMilliseconds, warmUpMilliseconds } = lab.options;
    const targets = [await lab.bare(), await lab.gateway()];
    const measure = async (target: { port: number }, milliseconds: number, mark: Mark) => {
      const caller = callerOf(target);
      const { pieces, seconds } = await runClosedLoop({
        ...{ port: caller.port, connections: 32, milliseconds, onWindow: mark },
        request: (number) => streamRequest(caller, 'stream', number),
        expected: { dataLines: lab.upstream.streamLines },
        onPiece: lab.upstream.advance,
      });
      return pieces / seconds;
    };
    lab.progress(`streamed answers of ${streamChunks} chunks`);
    for (const target of targets) await measure(target, warmUpMilliseconds, () => {});
    const comparison = await compare(targets, rounds, (target, meter) =>
      measure(target, roundMilliseconds, meter.mark),
    );
    const [bare, gateway] = comparison.medians;
    return [
      {
        ...{ row: 'streaming', measure: `chunks/s, streams of ${streamChunks}: gateway ÷ bare` },
        ...atLeast(0.85, comparison.ratio),
        ...{ note: throughputNote(comparison), figures: { bare, gateway, ...comparison } },
      },
      idleLine({ row: 'streaming', measure: 'chunks/s' }, comparison),
    ];
  },
};

type Mark = (edge: 'start' | 'end') => void;
