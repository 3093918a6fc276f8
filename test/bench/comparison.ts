import { coreUnderTest } from './affinity.ts';
import { fineProcessorSeconds, idleSeconds } from './processor-time.ts';
import { afterRound, settle } from './settle.ts';
import { median } from './statistics.ts';

/** What one round of one target counted. */
interface Round {
  perSecond: number;
  perProcessorSecond: number;
  /** Share of the time in which other processes had the target's core. */
  othersShare: number;
  /** Share of the time in which that core had nothing to do; NaN where the system does not tell. */
  idleShare: number;
}

/** One target ÷ another, round by round. */
export interface Ratio {
  /** The ratio that counts: by the clock on a quiet machine, by processor time on a busy one. */
  ratio: number;
  /** Median over the rounds, by the clock. */
  clockRatio: number;
  /** The same per second of processor time: blind to waiting, but unmoved by what else runs. */
  processorRatio: number;
  /** Mean share of the core that others had. */
  othersShare: number;
}

/** The last target ÷ the one before it, and what it is made of. */
export interface Comparison extends Ratio {
  /** Per second of each target, median of the rounds, in the order given. */
  medians: number[];
  rounds: Round[][];
}

/** What is compared: anything that runs in a process; the same process may stand for several. */
interface Target {
  readonly pid: number;
}

/** Above this share of the core in other hands the clock says more about them than about the targets. */
const busyShare = 0.05;

/**
 * Measures targets in turns (A B B A A B …), so that whatever else the machine does meets them alike, and compares the last target
 * with the one before it, round by round. `idle` is that of `coreMeter`.
 */
export async function compare<T extends Target>(
  targets: readonly T[],
  rounds: number,
  measure: (target: T, meter: Meter) => Promise<number>,
  idle?: () => number,
): Promise<Comparison> {
  const results: Round[][] = [];
  for (let round = 0; round < rounds; round++) {
    const order = targets.map((_, index) => index);
    if (round % 2 === 1) order.reverse();
    const measured: Round[] = [];
    for (const index of order) {
      const target = targets[index] as T;
      const meter = coreMeter(target, idle);
      const perSecond = await measure(target, meter);
      await settle(target, afterRound);
      const { own, others, idle: idleShare } = meter.shares();
      measured[index] = { perSecond, perProcessorSecond: perSecond / own, othersShare: others, idleShare };
    }
    results.push(measured);
  }
  const last = targets.length - 1;
  return {
    ...ratioOf(results, last, last - 1),
    rounds: results,
    medians: targets.map((_, index) => median(results.map((round) => round[index]?.perSecond ?? Number.NaN))),
  };
}

/** One target of a comparison ÷ another one, by their places. */
export function ratioOf(rounds: Comparison['rounds'], over: number, under: number): Ratio {
  const ratio = (field: 'perSecond' | 'perProcessorSecond') =>
    median(
      rounds.map((round) => (round[over]?.[field] ?? Number.NaN) / (round[under]?.[field] ?? Number.NaN)),
    );
  const shares = rounds.flatMap((round) => [round[under], round[over]].map((one) => one?.othersShare ?? 0));
  const othersShare = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const [clockRatio, processorRatio] = [ratio('perSecond'), ratio('perProcessorSecond')];
  return {
    ratio: othersShare > busyShare ? processorRatio : clockRatio,
    ...{ clockRatio, processorRatio, othersShare },
  };
}

/** Told when a round's counting begins and ends; then tells who had the core meanwhile. */
export interface Meter {
  mark: (edge: 'start' | 'end') => void;
  shares: () => { own: number; others: number; idle: number };
}

/**
 * A meter of the core that the targets share, for one of them; where the system does not tell, others had nothing. `idle` tells the
 * seconds for which that core has had nothing to do.
 */
export function coreMeter(target: Target, idle = () => idleSeconds(coreUnderTest())): Meter {
  const marks = { start: { own: 0, idle: 0, time: 0 }, end: { own: 0, idle: 0, time: 0 } };
  return {
    mark: (edge) => {
      const own = fineProcessorSeconds(target.pid);
      marks[edge] = { own, idle: idle(), time: performance.now() / 1000 };
    },
    shares: () => {
      const seconds = marks.end.time - marks.start.time;
      const own = (marks.end.own - marks.start.own) / seconds;
      const idle = (marks.end.idle - marks.start.idle) / seconds;
      const others = Math.max(0, 1 - own - idle);
      return { own, others: Number.isNaN(others) ? 0 : others, idle };
    },
  };
}
