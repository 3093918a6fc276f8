import { plainRequest } from '../../bench-requests.ts';
import { ratioOf } from '../../comparison.ts';
import type { Lab } from '../../lab.ts';
import type { Result, Row } from '../../result.ts';
import { idleLine } from '../../rows/throughput.ts';
import { bareContestant, besidePeer, type Contestant, gatewayContestant, titles } from '../contestants.ts';
import { knownPlain } from '../known-answer.ts';
import { compareRates, plainSide, ratioLine, type Side } from '../rates.ts';

const row = 'requests';
const promptBytes = 1000;

/** Requests per second, chat passed through, 1 KB prompts, with few and with many connections. */
export const requests: Row = {
  name: row,
  run: async (lab) => {
    const results: Result[] = [];
    for (const connections of [32, 256]) results.push(...(await withConnections(lab, connections)));
    return results;
  },
};

async function withConnections(lab: Lab, connections: number): Promise<Result[]> {
  const { rounds, roundMilliseconds, check } = lab.options;
  const name = `requests/s, ${connections} connections`;
  const side = async (one: Contestant, more: Partial<Side> = {}) => {
    const bytes = plainRequest(one.caller, promptBytes);
    const expected = await knownPlain(one.caller.port, bytes, 'chat');
    return plainSide(lab, one, { bytes, expected, connections, ...more });
  };
  const [bare, gateway] = [await bareContestant(lab), await gatewayContestant(lab)];
  lab.progress(`${name}: bare proxy and gateway`);
  const own = await compareRates([await side(bare), await side(gateway)], rounds);
  const results = [
    ratioLine({ row, measure: `${name}: gateway ÷ bare` }, own, { over: 1, under: 0 }, 0.9),
    idleLine({ row, measure: name }, own),
  ];
  if (check) return results;
  const beside = async (
    peer: 'nginx' | 'portkey' | 'litellm',
    goal: number | undefined,
    more: PeerRounds,
  ) => {
    const measure = `${name}: gateway ÷ ${titles[peer]}`;
    return besidePeer(lab, peer, { row, measure, goal }, async (one) => {
      lab.progress(measure);
      const { milliseconds = roundMilliseconds, warmUp } = more;
      const known = { warmUp: 0 };
      const sides = [
        await side(one, { milliseconds, warmUp }),
        await side(bare, known),
        await side(gateway, known),
      ];
      const comparison = await compareRates(sides, more.rounds);
      const line = ratioLine({ row, measure }, comparison, { over: 2, under: 0 }, goal);
      // What Node.js itself can do on this machine.
      const { ratio: limit } = ratioOf(comparison.rounds, 1, 0);
      return [{ ...line, note: `${line.note}; bare ÷ ${titles[peer]} ${limit.toPrecision(3)}` }];
    });
  };
  results.push(...(await beside('nginx', undefined, { rounds: 7, warmUp: 500 })));
  // They answer all that waits at once, and so slowly that a shorter round would count three bursts or four.
  const many = connections > 100;
  results.push(...(await beside('portkey', 10, { rounds, milliseconds: many ? 3000 : 800, warmUp: 5000 })));
  results.push(
    ...(await beside('litellm', 100, { rounds: 3, milliseconds: many ? 5000 : 2000, warmUp: 3000 })),
  );
  return results;
}

interface PeerRounds {
  rounds: number;
  milliseconds?: number;
  warmUp: number;
}
