import { type BenchFormat, streamRequest } from '../../bench-requests.ts';
import { convertedFormats, expectStream } from '../../converted-answer.ts';
import { type Lab, streamChunks } from '../../lab.ts';
import type { Expected } from '../../load-connection.ts';
import type { Result, Row } from '../../result.ts';
import { idleLine } from '../../rows/throughput.ts';
import { bareContestant, besidePeer, type Contestant, gatewayContestant, titles } from '../contestants.ts';
import { knownStream } from '../known-answer.ts';
import { compareRates, ratioLine, type Side } from '../rates.ts';

const row = 'streamed-chunks';
const connections = 32;
const whole = ' word'.repeat(streamChunks);

/** Chunks per second of 32 streams at a time, passed through and converted, one chunk of a stream under way at a time. */
export const streamedChunks: Row = {
  name: row,
  run: async (lab) => {
    const { upstream, options } = lab;
    const [bare, gateway] = [await bareContestant(lab), await gatewayContestant(lab)];
    lab.progress('streamed chunks/s');
    const passed = await side(lab, gateway);
    const own = await compareRates([await side(lab, bare), passed], options.rounds);
    const measure = 'streamed chunks/s';
    const results: Result[] = [
      ratioLine({ row, measure: `${measure}: gateway ÷ bare` }, own, { over: 1, under: 0 }, 0.9),
      idleLine({ row, measure }, own),
    ];
    const sides = [passed];
    for (const format of convertedFormats) {
      const request = streamRequest(gateway.caller, 'stream', 0, format);
      const onDelta = () => upstream.advance(0);
      const expected = await expectStream(gateway.caller, request, format, { kind: 'text', whole, onDelta });
      sides.push(sideOf(lab, gateway, expected, format));
    }
    const converted = await compareRates(sides, options.rounds);
    for (const [index, format] of convertedFormats.entries()) {
      const line = `${measure}, ${format} → chat ÷ passed through`;
      results.push(ratioLine({ row, measure: line }, converted, { over: index + 1, under: 0 }, 0.65));
    }
    for (const peer of ['nginx', 'portkey', 'litellm'] as const) {
      const line = `${measure}: gateway ÷ ${titles[peer]}`;
      results.push(
        ...(await besidePeer(lab, peer, { row, measure: line, goal: undefined }, async (one) => {
          lab.progress(line);
          const theirs = { ...(await side(lab, one)), milliseconds: peer === 'litellm' ? 2000 : 400 };
          const both = [theirs, { ...passed, warmUp: 0 }];
          return [
            ratioLine({ row, measure: line }, await compareRates(both, 3), { over: 1, under: 0 }, undefined),
          ];
        })),
      );
    }
    return results;
  },
};

/** Streams of one contestant, after one that was read in full. */
async function side(lab: Lab, one: Contestant): Promise<Side> {
  const request = streamRequest(one.caller, 'stream', 0);
  const onLine = () => lab.upstream.advance(0);
  return sideOf(lab, one, await knownStream(one.caller.port, request, whole, onLine), 'chat');
}

function sideOf(lab: Lab, { pid, caller }: Contestant, expected: Expected, format: BenchFormat): Side {
  const { roundMilliseconds: milliseconds, warmUpMilliseconds: warmUp } = lab.options;
  return {
    ...{ pid, port: caller.port, connections, milliseconds, warmUp, expected },
    request: (number) => streamRequest(caller, 'stream', number, format),
    onPiece: lab.upstream.advance,
  };
}
