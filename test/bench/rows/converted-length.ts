import { streamRequest } from '../bench-requests.ts';
import {
  type ConvertedFormat,
  convertedFormats,
  expectStream,
  type StreamKind,
} from '../converted-answer.ts';
import { type StreamScript, streamDelta, streamEnd, streamStartOf } from '../fast-upstream.ts';
import { callerOf, type Lab } from '../lab.ts';
import type { ProcessUnderTest } from '../process-under-test.ts';
import { fineProcessorSeconds } from '../processor-time.ts';
import type { Result, Row } from '../result.ts';
import { median } from '../statistics.ts';
import { runStreamsInTurn } from '../streams-in-turn.ts';

/** Chunks of a short and of a long stream. */
const [shortest, longest] = [1000, 50_000] as const;
/** Chunks that the upstream writes at once: with one at a time the row would take minutes. */
const group = 20;
/** The long stream's arguments are 1 MB. */
const argumentsPiece = 'all work & no play, ';
const mostGrowth = 1.2;

/** Processor time of one chunk in a long converted stream ÷ in a short one: what is kept of a stream must not slow it. */
export const convertedLength: Row = {
  name: 'converted-length',
  run: async (lab) => {
    const results: Result[] = [];
    if (lab.options.gateway === 'bare') return results;
    const gateway = await lab.gateway();
    for (const format of convertedFormats) {
      for (const kind of ['text', 'arguments'] as const) {
        lab.progress(`cost of a converted stream of ${kind} against its length, ${format}`);
        results.push(await compareLengths(lab, gateway, format, kind));
      }
    }
    return results;
  },
};

async function compareLengths(
  lab: Lab,
  gateway: ProcessUnderTest,
  format: ConvertedFormat,
  kind: StreamKind,
): Promise<Result> {
  const short = await streamsOf(lab, gateway, format, kind, shortest);
  const long = await streamsOf(lab, gateway, format, kind, longest);
  const rounds: { short: number; long: number }[] = [];
  for (let round = 0; round < lab.options.lengthRounds; round++) {
    const [first, second] = round % 2 === 0 ? [short, long] : [long, short];
    const [one, other] = [await first(), await second()];
    rounds.push(round % 2 === 0 ? { short: one, long: other } : { short: other, long: one });
  }
  const ratio = median(rounds.map((round) => round.long / round.short));
  const cost = (which: 'short' | 'long') => median(rounds.map((round) => round[which])).toFixed(2);
  const what = kind === 'text' ? 'chunk of 50,000 ÷ of 1,000' : 'piece of 1 MB of arguments ÷ of 20 KB';
  return {
    ...{ row: 'converted-length', measure: `CPU per ${what}, ${format} → chat` },
    ...{ goal: `≤ ${mostGrowth.toFixed(2)}`, measured: ratio.toFixed(2), ok: ratio <= mostGrowth },
    ...{ note: `${cost('long')} µs : ${cost('short')} µs`, figures: { ratio, rounds } },
  };
}

// Numbers that no other row uses.
let nextNumber = 700_000;

/** Checks one stream of so many chunks in full; the result runs as many as make `longest` chunks and gives µs of each. */
async function streamsOf(
  lab: Lab,
  { pid, port }: ProcessUnderTest,
  format: ConvertedFormat,
  kind: StreamKind,
  chunks: number,
): Promise<() => Promise<number>> {
  const number = nextNumber++;
  const caller = callerOf({ port });
  const request = streamRequest(caller, 'stream', number, format);
  const { script, whole } = scripts[kind](chunks);
  lab.upstream.script(number, script);
  // The first group is one delta.
  const onLine = (line: number) => {
    if (line % group === 0) lab.upstream.advance(number);
  };
  let delta = 0;
  const expected = await expectStream(caller, request, format, {
    ...{ kind, whole },
    onDelta: () => onLine(delta++),
  });
  return async () => {
    const before = fineProcessorSeconds(pid);
    const streams = longest / chunks;
    await runStreamsInTurn({ port, number, request, expected, streams, onLine });
    return ((fineProcessorSeconds(pid) - before) / longest) * 1e6;
  };
}

/** What the upstream sends, and what its deltas add up to. */
const scripts: Readonly<Record<StreamKind, (chunks: number) => { script: StreamScript; whole: string }>> = {
  text: (chunks) => {
    const delta = streamDelta({ content: ' word' });
    const pieces = chunks / group;
    const script = { start: streamStartOf(delta), piece: repeated(delta), pieces, end: streamEnd };
    return { script, whole: ' word'.repeat(chunks + 1) };
  },
  arguments: (chunks) => {
    const named = { index: 0, id: 'call_bench', type: 'function' };
    const begin = { ...named, function: { name: 'write_file', arguments: '{"text":"' } };
    const script = {
      start: streamStartOf(streamDelta({ tool_calls: [begin] })),
      piece: repeated(argumentsDelta(argumentsPiece)),
      pieces: chunks / group,
      end: Buffer.concat([argumentsDelta('"}'), streamEnd]),
    };
    return { script, whole: `{"text":"${argumentsPiece.repeat(chunks)}"}` };
  },
};

function argumentsDelta(text: string): Buffer {
  return streamDelta({ tool_calls: [{ index: 0, function: { arguments: text } }] });
}

function repeated(chunk: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: group }, () => chunk));
}
