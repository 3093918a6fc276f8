import { plainRequest } from '../bench/bench-requests.ts';
import { runPacedLoad } from '../bench/paced-load.ts';
import { below, type Result } from '../bench/result.ts';
import { median, percentile } from '../bench/statistics.ts';
import { keyText, modelNames, type SetSize } from './population.ts';
import { judgedIf } from './row.ts';

/** A connection on which nothing was asked yet is closed by the gateway after a while, with a 408: each window opens its own. */
const windowMs = 10_000;

/** Latencies in milliseconds, by windows of ten seconds or less. */
export type Latencies = readonly (readonly number[])[];

/** Completions asked of a gateway (base URL) at a fixed rate, by the last key of a set. */
export function requestLoad(gateway: string, size: SetSize, perSecond: number) {
  const port = Number(new URL(gateway).port);
  const [model = ''] = modelNames(0, 1);
  // The last key is never changed.
  const request = asking(plainRequest({ port, key: keyText(size.keys - 1) }, 1_000), model);
  return async (milliseconds: number): Promise<Latencies> => {
    const count = Math.max(1, Math.round(milliseconds / windowMs));
    const window = { port, rate: perSecond, milliseconds: milliseconds / count, request, expected: {} };
    const windows: number[][] = [];
    while (windows.length < count) windows.push(await runPacedLoad(window));
    return windows;
  };
}

/** The same request for another model. */
function asking(request: Buffer, model: string): Buffer {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n');
  const text = JSON.stringify({ ...(JSON.parse(body) as object), model });
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  return Buffer.from(`${head.replace(/Content-Length: \d+/, length)}\r\n\r\n${text}`);
}

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
  readonly isJudged: boolean;
}

/**
 * The line on them, judged by the p99 of a usual window: where two cores carry everything, a stall of a fifth of a second in any
 * of its parts is the p99 of ten seconds, and one of a whole second that of a minute.
 */
export function requestsLine(measured: RequestsMeasured): Result {
  const { row, keys, besideWhat, quiet, beside, meanwhile, isJudged } = measured;
  const [calm, base, busy] = [quiet, beside ?? quiet, meanwhile].map(usualP99) as [number, number, number];
  const medians = [quiet, ...(beside === undefined ? [] : [beside]), meanwhile].map((latencies) =>
    percentile(latencies.flat(), 0.5).toFixed(1),
  );
  const besideThem = beside === undefined ? '' : `, beside them ${spread(beside)}`;
  return {
    ...{ row, measure: `requests meanwhile, ${keys}: p99 ÷ that beside changes ${besideWhat}` },
    ...below(2, busy / base, ''),
    ...judgedIf(isJudged),
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
