import { type BenchFormat, plainRequest } from '../bench-requests.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { compare } from '../comparison.ts';
import { convertedFormats, expectPlain } from '../converted-answer.ts';
import { callerOf } from '../lab.ts';
import type { Expected } from '../load-connection.ts';
import type { Result, Row } from '../result.ts';
import { conversionResults } from './converted-streams.ts';

/** Prompt sizes in KB. */
const promptSizes = [1, 20] as const;

/** Requests per second of one gateway: passed through as chat, converted from other formats to the same chat. */
export const converted: Row = {
  name: 'converted',
  run: async (lab) => {
    const results: Result[] = [];
    if (lab.options.gateway === 'bare') return results;
    const { pid, port } = await lab.gateway();
    const caller = callerOf({ port });
    for (const size of promptSizes) {
      lab.progress(`converted requests/s with prompts of ${size} KB`);
      const target = (format: BenchFormat, expected: Expected) => {
        return { pid, expected, request: plainRequest(caller, size * 1000, format) };
      };
      const targets = [target('chat', { bodyBytes: lab.upstream.plainBytes })];
      for (const format of convertedFormats) {
        const request = plainRequest(caller, size * 1000, format);
        targets.push(target(format, await expectPlain(caller, request, format)));
      }
      const { convertedMilliseconds, warmUpMilliseconds, rewarmMilliseconds } = lab.options;
      const measure = async (
        { request, expected }: (typeof targets)[number],
        milliseconds: number,
        onWindow: Mark,
      ) => {
        const loop = { port, connections: 32, milliseconds, expected, onWindow };
        const { answers, seconds } = await runClosedLoop({ ...loop, request: () => request });
        return answers / seconds;
      };
      const warmUp = size === promptSizes[0] ? warmUpMilliseconds : rewarmMilliseconds;
      for (const one of targets) await measure(one, warmUp, () => {});
      const comparison = await compare(targets, lab.options.convertedRounds, (one, meter) =>
        measure(one, convertedMilliseconds, meter.mark),
      );
      results.push(...conversionResults('converted', `requests/s, ${size} KB prompts`, comparison));
    }
    return results;
  },
};

type Mark = (edge: 'start' | 'end') => void;
