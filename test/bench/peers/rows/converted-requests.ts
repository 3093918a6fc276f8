import { plainRequest } from '../../bench-requests.ts';
import { convertedFormats, expectPlain } from '../../converted-answer.ts';
import type { Result, Row } from '../../result.ts';
import { besidePeer, gatewayContestant } from '../contestants.ts';
import { knownPlain } from '../known-answer.ts';
import { compareRates, plainSide, ratioLine } from '../rates.ts';

const row = 'converted-requests';
const [promptBytes, connections] = [1000, 32] as const;

/** Requests per second that are converted to chat, against those that the same gateway passes through, and LiteLLM's. */
export const convertedRequests: Row = {
  name: row,
  run: async (lab) => {
    const { check, rounds } = lab.options;
    const gateway = await gatewayContestant(lab);
    lab.progress('converted requests/s');
    const chat = plainRequest(gateway.caller, promptBytes);
    const passed = { bodyBytes: lab.upstream.plainBytes };
    const sides = [plainSide(lab, gateway, { bytes: chat, expected: passed, connections })];
    for (const format of convertedFormats) {
      const bytes = plainRequest(gateway.caller, promptBytes, format);
      const expected = await expectPlain(gateway.caller, bytes, format);
      sides.push(plainSide(lab, gateway, { bytes, expected, connections }));
    }
    const own = await compareRates(sides, rounds);
    const results: Result[] = convertedFormats.map((format, index) =>
      ratioLine(
        { row, measure: `converted requests/s, ${format} → chat ÷ passed through` },
        own,
        { over: index + 1, under: 0 },
        0.65,
      ),
    );
    if (check) return results;
    const measure = 'converted requests/s, messages → chat: gateway ÷ LiteLLM';
    const messages = await besidePeer(lab, 'litellm', { row, measure, goal: 10 }, async (peer) => {
      lab.progress(measure);
      const bytes = plainRequest(peer.caller, promptBytes, 'messages');
      const expected = await knownPlain(peer.caller.port, bytes, 'messages');
      const theirs = { bytes, expected, connections, milliseconds: 2000, warmUp: 3000 };
      const [, ours] = sides;
      if (ours === undefined) throw new Error('no conversion was measured');
      const both = [plainSide(lab, peer, theirs), { ...ours, warmUp: 0 }];
      return [ratioLine({ row, measure }, await compareRates(both, 3), { over: 1, under: 0 }, 10)];
    });
    return [...results, ...messages];
  },
};
