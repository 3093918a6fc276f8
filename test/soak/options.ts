import { parseArgs } from 'node:util';

/** How one soak is made. */
export interface SoakOptions {
  /** Of load, warm-up included. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly sampleSeconds: number;
  /** One in so many samples is thorough. */
  readonly thoroughEvery: number;
  /** Scenarios begun in a second. */
  readonly perSecond: number;
  readonly reloadMs: number;
  readonly seed: number;
  readonly limits: SoakLimits;
}

/** Bytes, counts and milliseconds. */
export interface SoakLimits {
  /** Most that the heap and the descriptors may grow in an hour, by the upper bound of the slope. */
  readonly heapPerHour: number;
  readonly descriptorsPerHour: number;
  /** Highest that resident memory may be under load. */
  readonly mostResident: number;
  /** How much more there may be when all is idle, at the end than after the warm-up. */
  readonly moreHeap: number;
  readonly moreResident: number;
  readonly delayP99Ms: number;
  /** How many more promises, functions … may be alive than after the warm-up; things of ours not one more. */
  readonly moreObjects: number;
  /** How many more series the metrics may have: some errors are rare. A node that were not forgotten would leave 30. */
  readonly moreSeries: number;
}

export const usage = `npm run soak -- [--minutes N] [--per-second N] [--seed N]
  --minutes N     length of the load (default 20), of which a fifth is warm-up
  --per-second N  scenarios begun in a second (default 120)
  --seed N        of the choice of scenarios and faults`;

const mib = 1024 * 1024;

/** Reads the arguments; throws what parseArgs throws, and RangeError. */
export function soakOptions(argv: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '20' },
      'per-second': { type: 'string', default: '120' },
      seed: { type: 'string', default: '1' },
    },
  });
  const seconds = 60 * positive('--minutes', values.minutes);
  return {
    seconds,
    warmUpSeconds: seconds / 5,
    sampleSeconds: Math.min(5, seconds / 24),
    thoroughEvery: 3,
    perSecond: positive('--per-second', values['per-second']),
    reloadMs: 1_500,
    seed: positive('--seed', values.seed),
    limits: soakLimits,
  };
}

// 40 bytes of each scenario that stayed in the heap would be above its limits. What was measured without a leak: README.md.
const soakLimits: SoakLimits = {
  heapPerHour: 16 * mib,
  mostResident: 512 * mib,
  descriptorsPerHour: 60,
  moreHeap: 3 * mib,
  moreResident: 32 * mib,
  delayP99Ms: 20,
  moreObjects: 400,
  moreSeries: 100,
};

function positive(flag: string, text: string): number {
  const number = Number(text);
  if (number > 0) return number;
  throw new RangeError(`${flag} ${text}: must be a number above 0`);
}
