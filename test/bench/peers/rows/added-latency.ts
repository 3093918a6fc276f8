import { type Caller, plainRequest, streamRequest } from '../../bench-requests.ts';
import { coreMeter } from '../../comparison.ts';
import { streamDelta, streamEnd, streamStartOf } from '../../fast-upstream.ts';
import { type AwakeCores, keepAwake } from '../../keep-awake.ts';
import type { Lab } from '../../lab.ts';
import { runPacedLoad } from '../../paced-load.ts';
import { below, type Result, type Row } from '../../result.ts';
import { median, percentile } from '../../statistics.ts';
import { bareContestant, type Contestant, gatewayContestant } from '../contestants.ts';
import { runPacedStreams } from '../paced-streams.ts';
import { rateOf } from '../rates.ts';
import { watchStandstill } from '../standstill.ts';

const row = 'added-latency';
/** What may be added to the bare proxy's, in milliseconds. */
const goals = { median: 0.5, p99: 2, 'p99.9': 5 } as const;
type Which = keyof typeof goals;
type Percentiles = Readonly<Record<Which, number>>;
type Side = 'bare' | 'gateway';
interface Pair extends Readonly<Record<Side, Percentiles>> {
  /** Of both rounds the largest share of the time in which others had the core, or the generator stood still. */
  readonly disturbed: number;
}

/** A pair that was disturbed for a larger share is taken again: its worst hundredth would be the disturbance's. */
const disturbedShare = 0.01;
/** Pairs taken at most, as a multiple of those wanted. Of more than are wanted the least disturbed count. */
const mostPairs = 2;

/** Stream numbers that no other row uses. */
const firstNumber = 800_000;
const delta = streamDelta({ content: ' word' });
/** One chunk, and the end when the caller has it. */
const oneChunk = { start: streamStartOf(delta), piece: delta, pieces: 0, end: streamEnd };

/** What the gateway adds to the bare proxy's times, each at half of the lower saturation. */
export const addedLatency: Row = {
  name: row,
  run: async (lab) => [...(await answers(lab)), ...(await firstChunks(lab)), ...(await gaps(lab))],
};

/** Whole answers. */
async function answers(lab: Lab): Promise<Result[]> {
  const expected = { bodyBytes: lab.upstream.plainBytes };
  const request = ({ caller }: Contestant) => plainRequest(caller, 1000);
  const saturation = (one: Contestant, milliseconds: number) => {
    const bytes = request(one);
    return rateOf({ port: one.caller.port, connections: 32, milliseconds, expected, request: () => bytes });
  };
  return added(lab, 'answer', '/s', saturation, (one, rate, milliseconds) =>
    runPacedLoad({ port: one.caller.port, rate, milliseconds, request: request(one), expected }),
  );
}

/** First chunks of streams. */
async function firstChunks(lab: Lab): Promise<Result[]> {
  const { upstream } = lab;
  const scripted = 2000;
  for (let index = 0; index < scripted; index++) upstream.script(firstNumber + index, oneChunk);
  const expected = { dataLines: 2 };
  const request = (caller: Caller) => (number: number) =>
    streamRequest(caller, 'stream', firstNumber + (number % scripted));
  const onFirst = (number: number) => upstream.advance(firstNumber + (number % scripted));
  const saturation = async ({ caller }: Contestant, milliseconds: number) => {
    // Only the first of two pieces asks for the end.
    const loop = { port: caller.port, connections: 32, milliseconds, expected };
    const perSecond = await rateOf({ ...loop, request: request(caller), onPiece: onFirst });
    return perSecond / 2;
  };
  try {
    return await added(lab, 'first chunk', ' streams/s', saturation, (one, rate, milliseconds) =>
      runPacedLoad({
        ...{
          port: one.caller.port,
          rate,
          milliseconds,
          request: request(one.caller),
          expected,
          onFirstLine: onFirst,
        },
      }),
    );
  } finally {
    for (let index = 0; index < scripted; index++) upstream.script(firstNumber + index, undefined);
  }
}

/** How much longer than at the upstream the times between chunks are. */
async function gaps(lab: Lab): Promise<Result[]> {
  const { upstream } = lab;
  const saturation = ({ caller }: Contestant, milliseconds: number) =>
    rateOf({
      ...{ port: caller.port, connections: 32, milliseconds, onPiece: upstream.advance },
      request: (number) => streamRequest(caller, 'stream', number),
      expected: { dataLines: upstream.streamLines },
    });
  return added(lab, 'gap between chunks', ' chunks/s', saturation, (one, rate, milliseconds) =>
    runPacedStreams({ upstream, caller: one.caller, rate, milliseconds }),
  );
}

/** Measures both in turns at half of the lower saturation; the lines have the median of the rounds' differences. */
async function added(
  lab: Lab,
  what: string,
  unit: string,
  saturation: (one: Contestant, milliseconds: number) => Promise<number>,
  measure: (one: Contestant, rate: number, milliseconds: number) => Promise<readonly number[]>,
): Promise<Result[]> {
  const { latencyPairs: wanted, roundMilliseconds, warmUpMilliseconds, check } = lab.options;
  const [bare, gateway] = [await bareContestant(lab), await gatewayContestant(lab)];
  lab.progress(`added latency: ${what}`);
  const awake = await keepAwake();
  try {
    for (const one of [bare, gateway]) await saturation(one, warmUpMilliseconds);
    const rates: number[] = [];
    for (const one of [bare, gateway]) rates.push(await saturation(one, roundMilliseconds * 2));
    const rate = check ? 100 : Math.min(...rates) / 2;
    const taken = await takePairs(wanted, (order) =>
      measurePair({ bare, gateway }, order, awake, (one) => measure(one, rate, roundMilliseconds * 3)),
    );
    const pairs = taken.toSorted((a, b) => a.disturbed - b.disturbed).slice(0, wanted);
    const worst = ((pairs.at(-1)?.disturbed ?? 0) * 100).toFixed(1);
    const of = `; the ${wanted} calmest of ${taken.length} pairs, disturbed for ${worst} % at most`;
    return (Object.keys(goals) as Which[]).map((which) => {
      const more = median(pairs.map((pair) => pair.gateway[which] - pair.bare[which]));
      const [theirs, ours] = (['bare', 'gateway'] as const).map((side) =>
        median(pairs.map((pair) => pair[side][which])),
      );
      return {
        ...{ row, measure: `${what} over the bare proxy, ${which}`, ...below(goals[which], more, 'ms') },
        note: `gateway ${ours?.toFixed(2)} ms, bare ${theirs?.toFixed(2)} ms at ${rate.toFixed(0)}${unit}${of}${awake.note}`,
        figures: { rate, more, taken },
      };
    });
  } finally {
    await awake.stop();
  }
}

/** Pairs until so many of them are calm, which side goes first in turns. */
async function takePairs(
  wanted: number,
  measure: (order: readonly Side[]) => Promise<Pair>,
): Promise<readonly Pair[]> {
  const taken: Pair[] = [];
  const calm = () => taken.filter(({ disturbed }) => disturbed <= disturbedShare).length;
  while (calm() < wanted && taken.length < wanted * mostPairs)
    taken.push(await measure(taken.length % 2 === 0 ? ['bare', 'gateway'] : ['gateway', 'bare']));
  return taken;
}

/** One round of each side. */
async function measurePair(
  sides: Readonly<Record<Side, Contestant>>,
  order: readonly Side[],
  awake: AwakeCores,
  measure: (one: Contestant) => Promise<readonly number[]>,
): Promise<Pair> {
  const rounds: Partial<Record<Side, Percentiles>> = {};
  let disturbed = 0;
  for (const side of order) {
    const meter = coreMeter(sides[side], awake.idleSeconds);
    meter.mark('start');
    const stopWatch = watchStandstill();
    rounds[side] = percentiles(await measure(sides[side]));
    const still = stopWatch();
    meter.mark('end');
    disturbed = Math.max(disturbed, meter.shares().others, still);
  }
  return { ...(rounds as Record<Side, Percentiles>), disturbed };
}

function percentiles(values: readonly number[]): Percentiles {
  return { median: median(values), p99: percentile(values, 0.99), 'p99.9': percentile(values, 0.999) };
}
