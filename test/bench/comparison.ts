import type { ProcessUnderTest } from './process-under-test.ts';
import { median } from './statistics.ts';

/** What one round of one target counted. */
interface Round {
  perSecond: number;
  /** Per second of processor time of the process under test: other work on the machine moves it less. */
  perProcessorSecond: number;
}

export interface Comparison {
  /** Medians of the rounds of each target, in the order given. */
  medians: Round[];
  /** Median over the rounds of (last target ÷ the one before it) within the same round. */
  ratio: number;
  processorRatio: number;
  rounds: Round[][];
}

/**
 * Measures targets in turns (A B B A A B …), so that whatever else the machine does meets them alike, and compares the last target
 * with the one before it, round by round.
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
      const meter = processorMeter(targets[index]);
      const perSecond = await measure(targets[index], meter);
      measured[index] = { perSecond, perProcessorSecond: perSecond / meter.share() };
    }
    results.push(measured);
  }
  const last = targets.length - 1;
  const ratios = (field: keyof Round) =>
    median(
      results.map((round) => (round[last]?.[field] ?? Number.NaN) / (round[last - 1]?.[field] ?? Number.NaN)),
    );
  return {
    rounds: results,
    medians: targets.map((_, index) => ({
      perSecond: median(results.map((round) => round[index]?.perSecond ?? Number.NaN)),
      perProcessorSecond: median(results.map((round) => round[index]?.perProcessorSecond ?? Number.NaN)),
    })),
    ratio: ratios('perSecond'),
    processorRatio: ratios('perProcessorSecond'),
  };
}

/** Measures how much of the counting window a process computed. */
export interface Meter {
  mark: (edge: 'start' | 'end') => void;
  share: () => number;
}

function processorMeter(target: ProcessUnderTest | undefined): Meter {
  const marks: Partial<Record<'start' | 'end', { used: number; time: number }>> = {};
  return {
    mark: (edge) => {
      marks[edge] = { used: target?.processorSeconds() ?? 0, time: performance.now() / 1000 };
    },
    share: () => {
      const { start, end } = marks;
      if (start === undefined || end === undefined) return Number.NaN;
      return (end.used - start.used) / (end.time - start.time);
    },
  };
}
