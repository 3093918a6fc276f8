import { coreUnderTest } from './affinity.ts';
import type { ProcessUnderTest } from './process-under-test.ts';
import { idleSeconds, processorSeconds } from './processor-time.ts';
import { median } from './statistics.ts';

/** What one round of one target counted. */
interface Round {
  perSecond: number;
  /** Share of the time in which the core belonged to the target: worked for it, or had nothing to do. */
  coreShare: number;
}

export interface Comparison {
  /** Per second of each target, median of the rounds, in the order given. */
  medians: number[];
  /** Median over the rounds of (last target ÷ the one before it), both as if the core had been theirs alone. */
  ratio: number;
  /** The same without that correction. */
  rawRatio: number;
  rounds: Round[][];
}

/**
 * Measures targets in turns (A B B A A B …), so that whatever else the machine does meets them alike, and compares the last target
 * with the one before it, round by round. Time for which other processes had the core is taken out: on a quiet machine
 * that is none, on a busy one it would decide the ratio.
 */
export async function compare(
  targets: readonly (ProcessUnderTest | undefined)[],
  rounds: number,
  measure: (target: ProcessUnderTest | undefined, meter: Meter) => Promise<number>,
): Promise<Comparison> {
  const results: Round[][] = [];
  for (let round = 0; round < rounds; round++) {
    const order = targets.map((_, index) => index);
    if (round % 2 === 1) order.reverse();
    const measured: Round[] = [];
    for (const index of order) {
      const meter = coreMeter(targets[index]);
      measured[index] = { perSecond: await measure(targets[index], meter), coreShare: meter.share() };
    }
    results.push(measured);
  }
  const last = targets.length - 1;
  const ratio = (of: (round: Round | undefined) => number) =>
    median(results.map((round) => of(round[last]) / of(round[last - 1])));
  return {
    rounds: results,
    medians: targets.map((_, index) => median(results.map((round) => round[index]?.perSecond ?? Number.NaN))),
    ratio: ratio((round) => (round === undefined ? Number.NaN : round.perSecond / round.coreShare)),
    rawRatio: ratio((round) => round?.perSecond ?? Number.NaN),
  };
}

/** Told when a round's counting begins and ends. */
export interface Meter {
  mark: (edge: 'start' | 'end') => void;
  share: () => number;
}

function coreMeter(target: ProcessUnderTest | undefined): Meter {
  const marks = { start: { ownOrIdle: 0, time: 0 }, end: { ownOrIdle: 0, time: 0 } };
  return {
    mark: (edge) => {
      const own = target === undefined ? Number.NaN : processorSeconds(target.pid);
      marks[edge] = { ownOrIdle: own + idleSeconds(coreUnderTest()), time: performance.now() / 1000 };
    },
    share: () => {
      const share = (marks.end.ownOrIdle - marks.start.ownOrIdle) / (marks.end.time - marks.start.time);
      return Number.isNaN(share) ? 1 : Math.min(1, share);
    },
  };
}
