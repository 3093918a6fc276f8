import { parseArgs } from 'node:util';
import type { SetSize } from './population.ts';

/** How one run is made. */
export interface ScaleOptions {
  /** From small to large; goals hold for the last. */
  readonly sizes: readonly SetSize[];
  /** How long a gateway is watched after it is ready, before its memory is read. */
  readonly settleSeconds: number;
  readonly changes: {
    readonly perSecond: number;
    readonly seconds: number;
    /** Requests for models meanwhile. */
    readonly requestsPerSecond: number;
  };
  /** How long controllers run before that; all nodes fail meanwhile, and come back. */
  readonly warmUpSeconds: number;
  /** How long controllers are watched with nothing to do but checks. */
  readonly steadySeconds: number;
  /** Seconds between two health checks of a node; undefined: as by default, a minute. */
  readonly checkSeconds: number | undefined;
  /** Models of one node. */
  readonly modelCounts: readonly number[];
  /** Watches on one namespace, as gateways hold them. */
  readonly watchers: readonly number[];
  /** Keys created at once while a controller runs. */
  readonly newKeys: readonly number[];
  /** By how much goals that are times are widened: other tests share the machine with the short form. */
  readonly patience: number;
  readonly only: readonly string[];
  /** Write a CPU profile of each role to test/scale/results. */
  readonly profile: boolean;
}

export const usage = `npm run scale -- [--only ROW]… [--short] [--json FILE] [--profile]
  --only ROW   only this row, by its name in the table; may be repeated
  --short      10 nodes and 1,000 keys, in half a minute
  --json FILE  write the figures there, too
  --profile    write a CPU profile of each role to test/scale/results (for Chrome's or VS Code's viewer)`;

const long: ScaleOptions = {
  sizes: [
    { keys: 1_000, nodes: 10, modelsPerNode: 500 },
    { keys: 10_000, nodes: 100, modelsPerNode: 500 },
    { keys: 100_000, nodes: 1_000, modelsPerNode: 500 },
  ],
  settleSeconds: 5,
  changes: { perSecond: 1_000, seconds: 60, requestsPerSecond: 200 },
  // Overdue syncs are spread over 300 s; a check that finds nothing new writes its time once in 300 s.
  warmUpSeconds: 310,
  steadySeconds: 300,
  checkSeconds: undefined,
  modelCounts: [10, 100, 1_000, 5_000],
  watchers: [1, 10, 100, 300],
  newKeys: [100, 1_000],
  patience: 1,
  only: [],
  profile: false,
};

/** The short form, which `npm test` runs, too. */
export const short: ScaleOptions = {
  ...long,
  sizes: [{ keys: 1_000, nodes: 10, modelsPerNode: 50 }],
  settleSeconds: 1,
  changes: { perSecond: 100, seconds: 3, requestsPerSecond: 50 },
  warmUpSeconds: 10,
  steadySeconds: 11,
  checkSeconds: 10,
  modelCounts: [10, 1_000],
  watchers: [1, 10],
  newKeys: [100],
  patience: 10,
};

/** Reads the arguments; throws what parseArgs throws. */
export function scaleOptions(argv: readonly string[]): ScaleOptions & { readonly json: string | undefined } {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      short: { type: 'boolean', default: false },
      json: { type: 'string' },
      profile: { type: 'boolean', default: false },
    },
  });
  const { only, profile, json } = values;
  return { ...(values.short ? short : long), only, profile, json };
}
