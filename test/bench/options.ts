import { parseArgs } from 'node:util';

/** How one bench run is made. */
export interface BenchOptions {
  /** Rounds of each comparison. */
  rounds: number;
  /** Pairs of rounds whose latencies count, beside other proxies. Some have a collection of the whole heap in them. */
  latencyPairs: number;
  /** Length of one measured round. */
  roundMilliseconds: number;
  /** Load before the first measured round of each target, so that what is compiled then is not measured. */
  warmUpMilliseconds: number;
  /** The same for a target that has done such work before, with other prompts. */
  rewarmMilliseconds: number;
  bigSet: { keys: number; nodes: number; modelsPerNode: number };
  /** Changes of a key or a node while the event loop is watched. */
  changes: number;
  idleStreams: number;
  /** Rounds of each comparison of converted requests with passed-through ones, and their length: there are three targets. */
  convertedRounds: number;
  convertedMilliseconds: number;
  /** Rounds of the comparison of long converted streams with short ones. */
  lengthRounds: number;
  /** Converted streams that are held open. */
  convertedIdle: number;
  /** Run the rows that take long, too. */
  long: boolean;
  strict: boolean;
  /** Measure beside other proxies instead, against the goals that were set for that. */
  peers: boolean;
  /** Only look whether the bench itself works: everything as short as it can be, no other proxies, no goals. */
  check: boolean;
  /** Rows to run; empty: all. */
  only: readonly string[];
  /** Write a CPU profile of each process under test. */
  profile: boolean;
  /** What stands for the gateway. */
  gateway: 'gateway' | 'bare';
}

export const usage = `npm run bench -- [--long] [--strict] [--only ROW]… [--stand-in] [--profile]
npm run bench -- --peers [--check] [--long] [--only ROW]… [--profile]
  --long      more and longer rounds (about 10 minutes instead of 3)
  --strict    exit code 1 when a goal is missed
  --peers     beside nginx, Portkey's gateway and LiteLLM's proxy, with exit code 1 when a goal is missed (8 minutes)
  --check     with --peers: some seconds to see that the bench works; gateway and bare proxy alone, no goals
  --only ROW  only this row, by its name in the table; may be repeated
  --stand-in  measure the bare proxy against itself: all ratios must be about 1 (a check of the bench)
  --profile   write a CPU profile of each process to test/bench/results (for Chrome's or VS Code's viewer)`;

/** Reads the arguments of the bench; throws what parseArgs throws. */
export function benchOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      long: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      profile: { type: 'boolean', default: false },
      'stand-in': { type: 'boolean', default: false },
    },
  });
  if (values.check && !values.peers) throw new Error('--check: only with --peers');
  if (values.check) return shortest(values);
  return {
    // One round is good for a tenth to a fifth, and some goals are nearer than that.
    rounds: values.long ? 41 : values.peers ? 21 : 7,
    latencyPairs: values.long ? 41 : 14,
    roundMilliseconds: values.long ? 800 : 400,
    warmUpMilliseconds: values.long ? 3000 : 2000,
    rewarmMilliseconds: values.long ? 3000 : 600,
    bigSet: { keys: 9_900, nodes: 100, modelsPerNode: 500 },
    changes: values.long ? 120 : 18,
    idleStreams: 5000,
    convertedRounds: values.long ? 21 : 9,
    convertedMilliseconds: values.long ? 800 : 150,
    lengthRounds: values.long ? 9 : 3,
    convertedIdle: values.long ? 5000 : 1000,
    long: values.long,
    strict: values.strict || (values.peers && !values.check),
    peers: values.peers,
    check: values.check,
    only: values.only,
    profile: values.profile,
    gateway: values['stand-in'] ? 'bare' : 'gateway',
  };
}

/** What takes some seconds in all. */
function shortest({ only }: Pick<BenchOptions, 'only'>): BenchOptions {
  return {
    ...{ rounds: 1, latencyPairs: 2, roundMilliseconds: 50, warmUpMilliseconds: 50, rewarmMilliseconds: 50 },
    ...{ bigSet: { keys: 100, nodes: 10, modelsPerNode: 5 }, changes: 2, idleStreams: 20 },
    ...{ convertedRounds: 1, convertedMilliseconds: 50, lengthRounds: 1, convertedIdle: 20 },
    ...{ long: false, strict: false, peers: true, check: true, gateway: 'gateway' },
    ...{ only, profile: false },
  };
}
