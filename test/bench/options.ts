import { parseArgs } from 'node:util';

/** How one bench run is made. */
export interface BenchOptions {
  /** Rounds of each comparison. */
  rounds: number;
  /** Length of one measured round. */
  roundMilliseconds: number;
  bigSet: { keys: number; nodes: number; modelsPerNode: number };
  /** Changes of a key or a node while the event loop is watched. */
  changes: number;
  idleStreams: number;
  strict: boolean;
  /** Rows to run; empty: all. */
  only: readonly string[];
  /** What stands for the gateway. */
  gateway: 'gateway' | 'bare';
}

export const usage = `npm run bench -- [--long] [--strict] [--only ROW]… [--stand-in]
  --long      more and longer rounds (about 10 minutes instead of 3)
  --strict    exit code 1 when a goal is missed
  --only ROW  only this row, by its name in the table; may be repeated
  --stand-in  measure the bare proxy against itself: all ratios must be about 1 (a check of the bench)`;

/** Reads the arguments of the bench; throws what parseArgs throws. */
export function benchOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      long: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      'stand-in': { type: 'boolean', default: false },
    },
  });
  return {
    rounds: values.long ? 15 : 5,
    roundMilliseconds: values.long ? 2000 : 700,
    bigSet: { keys: 100_000, nodes: 1000, modelsPerNode: 500 },
    changes: values.long ? 120 : 32,
    idleStreams: 5000,
    strict: values.strict,
    only: values.only,
    gateway: values['stand-in'] ? 'bare' : 'gateway',
  };
}
