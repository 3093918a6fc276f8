import type { DialectWish } from '../../convert/dialect.ts';
import { dialectRemedy } from '../../convert/dialect-remedy.ts';
import { UpstreamFault } from '../../convert/upstream-fault.ts';
import type { ConversionMetrics } from '../../observe/conversion-metrics.ts';
import type { Log } from '../../observe/log.ts';
import { dialectOf } from '../../routing/candidate-dialect.ts';
import type { Candidate } from '../../store/store.ts';
import { errorOf, type Failure } from '../attempt/failure.ts';
import { conversionNames } from './conversion.ts';
import { droppedLabel } from './dropped-label.ts';

/** Reports conversions while requests run. */
export interface ConversionReports {
  ran(conversion: string, dropped: readonly string[]): void;
  lost(conversion: string, lost: readonly string[]): void;
  /** An attempt on a candidate failed. The log says which setting of the dialect would help, if one would. */
  failed(candidate: Candidate, failure: Failure): Promise<void>;
}

/** The same advice about the same node is logged once in this time. */
const adviceEveryMs = 3_600_000;
/** Most pieces of advice that are remembered. */
const mostAdvice = 10_000;

/** `clock` is monotonic, in milliseconds. */
export function createConversionReports(options: {
  readonly log: Log;
  readonly clock: () => number;
  readonly counters: ConversionMetrics;
}): ConversionReports {
  const { log, clock, counters } = options;
  const advisedAt = new Map<string, number>();
  counters.declare(conversionNames);

  const isNews = (about: string): boolean => {
    const last = advisedAt.get(about);
    if (last !== undefined && clock() - last < adviceEveryMs) return false;
    if (advisedAt.size >= mostAdvice) advisedAt.clear();
    advisedAt.set(about, clock());
    return true;
  };
  const advise = (candidate: Candidate, fault: UpstreamFault): void => {
    const remedy = dialectRemedy(fault);
    if (remedy === undefined) return;
    const node = candidate.node.id;
    counters.refusedByNode(node, remedy.field);
    // If the setting is in force already, the node refused something else.
    if (remedy.setting === settingOf(candidate, remedy.field)) return;
    if (!isNews(`${node} ${remedy.setting}`)) return;
    const setting = `spec.dialect.${remedy.setting}`;
    log.warn(
      { node, model: candidate.model, setting, reason: fault.message },
      'A node refused a field of a converted request; the setting keeps it from the node',
    );
  };
  return {
    ran(conversion, dropped) {
      counters.converted(conversion);
      if (dropped.length === 0) return;
      for (const field of new Set(dropped.map(droppedLabel))) counters.dropped(conversion, field);
    },
    lost(conversion, lost) {
      for (const what of lost) counters.lost(conversion, what);
    },
    async failed(candidate, failure) {
      if (failure.status !== 400 && failure.status !== 422) return;
      const fault = await errorOf(failure);
      if (fault instanceof UpstreamFault) advise(candidate, fault);
    },
  };
}

/** A field of the dialect in force, as a manifest has it. */
function settingOf(candidate: Candidate, field: keyof DialectWish): string {
  const value = dialectOf(candidate)[field];
  return `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
