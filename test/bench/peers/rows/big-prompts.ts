import { pictureRequest, plainRequest } from '../../bench-requests.ts';
import type { Lab } from '../../lab.ts';
import { peakResidentBytes } from '../../processor-time.ts';
import { below, type Result, type Row } from '../../result.ts';
import { bareContestant, contestant, gatewayContestant } from '../contestants.ts';
import { knownPlain } from '../known-answer.ts';
import { compareRates, plainSide, rateOf, ratioLine } from '../rates.ts';

const row = 'big-prompts';
const pictureMegabytes = 8;
/** Prompts of pictures under way at one time. */
const picturesAtOnce = 16;
/** Two copies of all that is under way, and what is not yet collected. */
const mostGrowth = (2 * picturesAtOnce * pictureMegabytes + 100) * 1e6;

/** Requests per second with prompts of 20 and 400 KB, and with pictures of 8 MB; what memory these take. */
export const bigPrompts: Row = {
  name: row,
  run: async (lab) => {
    const [bare, gateway] = [await bareContestant(lab), await gatewayContestant(lab)];
    const sizes = [
      { title: '20 KB prompts', connections: 32, build: (port: Port) => plainRequest(port, 20_000) },
      { title: '400 KB prompts', connections: 32, build: (port: Port) => plainRequest(port, 400_000) },
      {
        title: '8 MB of pictures',
        connections: 8,
        build: (port: Port) => pictureRequest(port, pictureMegabytes),
      },
    ];
    const results: Result[] = [];
    for (const { title, connections, build } of sizes) {
      lab.progress(`requests/s, ${title}`);
      const sides = [];
      for (const one of [bare, gateway]) {
        const bytes = build(one.caller);
        const expected = await knownPlain(one.caller.port, bytes, 'chat');
        sides.push(plainSide(lab, one, { bytes, expected, connections }));
      }
      const comparison = await compareRates(sides, lab.options.rounds);
      const measure = `requests/s, ${title}: gateway ÷ bare`;
      results.push(ratioLine({ row, measure }, comparison, { over: 1, under: 0 }, 0.9));
    }
    return [...results, await memory(lab)];
  },
};

type Port = Parameters<typeof plainRequest>[0];

/** What a gateway of its own takes for pictures, over what it has after its first ordinary requests. */
async function memory(lab: Lab): Promise<Result> {
  lab.progress(`memory with ${picturesAtOnce} prompts of ${pictureMegabytes} MB at a time`);
  const fresh = await lab.fresh.gateway();
  try {
    const one = contestant(fresh);
    const { port } = one.caller;
    const expected = { bodyBytes: lab.upstream.plainBytes };
    const [small, pictures] = [plainRequest(one.caller, 1000), pictureRequest(one.caller, pictureMegabytes)];
    const milliseconds = lab.options.check ? 50 : 5000;
    await rateOf({ port, connections: 32, milliseconds: milliseconds / 5, request: () => small, expected });
    const before = peakResidentBytes(one.pid);
    await rateOf({ port, connections: picturesAtOnce, milliseconds, request: () => pictures, expected });
    const peak = peakResidentBytes(one.pid);
    const line = below(mostGrowth / 1e6, (peak - before) / 1e6, 'MB');
    return {
      ...{
        row,
        measure: `${picturesAtOnce} × ${pictureMegabytes} MB at a time: growth of the most memory`,
        ...line,
      },
      note: `${(peak / 1e6).toFixed(0)} MB at most, ${(before / 1e6).toFixed(0)} MB before`,
      figures: { peak, before },
    };
  } finally {
    await fresh.stop();
  }
}
