import { below, type Result } from '../bench/result.ts';
import { median, percentile } from '../bench/statistics.ts';
import type { Latencies } from './request-load.ts';
import { judgedIf } from './row.ts';

/** What callers noticed of changes to the keys of their gateway. */
export interface RequestsMeasured {
  readonly row: string;
  readonly keys: string;
  /** The changes that `beside` was measured beside: of what this gateway does not hear. */
  readonly besideWhat: string;
  readonly quiet: Latencies;
  /** The same load of the machine without this gateway's part; absent where it was not measured. */
  readonly beside?: Latencies | undefined;
  readonly meanwhile: Latencies;
  readonly isLargest: boolean;
  readonly patience: number;
}

/**
 * The line on them, judged by the p99 of a usual window: where two cores carry everything, a stall of a fifth of a second in any
 * of its parts is the p99 of ten seconds, and one of a whole second that of a minute.
 */
export function requestsLine(measured: RequestsMeasured): Result {
  const { row, keys, besideWhat, quiet, beside, meanwhile, isLargest, patience } = measured;
  const [calm, base, busy] = [quiet, beside ?? quiet, meanwhile].map(usualP99) as [number, number, number];
  const medians = [quiet, ...(beside === undefined ? [] : [beside]), meanwhile].map((latencies) =>
    percentile(latencies.flat(), 0.5).toFixed(1),
  );
  const besideThem = beside === undefined ? '' : `, beside them ${spread(beside)}`;
  return {
    ...{ row, measure: `requests meanwhile, ${keys}: p99 ÷ that beside changes ${besideWhat}` },
    ...below(2, busy / base, ''),
    // A ratio of two short times says nothing while other tests run.
    ...judgedIf(isLargest && patience <= 1),
    note: `quiet ${spread(quiet)}${besideThem}, meanwhile ${spread(meanwhile)} ms; median ${medians.join(' → ')}`,
    figures: {
      ...{ quiet: calm, beside: base, meanwhile: busy },
      windows: { beside: beside?.map(p99), meanwhile: meanwhile.map(p99) },
    },
  };
}

function p99(latencies: readonly number[]): number {
  return percentile(latencies, 0.99);
}

function usualP99(latencies: Latencies): number {
  return median(latencies.map(p99));
}

/** The usual window's, and those of the best and the worst one. */
function spread(latencies: Latencies): string {
  const all = latencies.map(p99);
  const usual = usualP99(latencies).toFixed(1);
  return all.length === 1
    ? usual
    : `${usual} (${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)})`;
}
