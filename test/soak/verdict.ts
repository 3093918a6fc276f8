import { arrivalDelay } from '../bench/statistics.ts';
import type { SoakOptions } from './options.ts';
import { activeOf, type Idle, ownClasses, type Sample } from './sample.ts';
import { type Slope, slopeOf, usualGrowthOf } from './slope.ts';
import type { SoakRecord } from './soak.ts';

/** One line of the table. */
export interface Verdict {
  readonly measure: string;
  readonly goal: string;
  readonly measured: string;
  readonly ok: boolean;
}

const mib = 1024 * 1024;
/** Judges what was seen. */
export function judge(record: SoakRecord, { limits, warmUpSeconds }: SoakOptions): Verdict[] {
  const { idle, load, reloads, servers, errors } = record;
  const samples = record.samples.filter(({ seconds }) => seconds > warmUpSeconds);
  const played = sum(Object.values(load.counts).map((count) => count.played));
  const failed = sum(Object.values(load.counts).map((count) => count.failed));
  const changes = sum(Object.values(reloads.counts));
  const stalls = samples.flatMap((sample) => sample.stalls);
  const over = sum(samples.map(({ stallsOver }) => stallsOver));
  const p99 = arrivalDelay(stalls, over, 0.99);
  const longest = Math.max(...samples.map(({ delayLongest }) => delayLongest));
  const flat = growth(samples);
  const highest = Math.max(...samples.map(({ resident }) => resident));
  const usual = usualGrowthOf(samples.map(({ seconds, resident }) => [seconds, resident / mib]));
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    zero('answers that were not the right ones', failed, `of ${played} scenarios`),
    zero('changes of the configuration not in force', reloads.failures.length, `of ${changes}`),
    zero('scenarios not begun for want of answers', load.skipped, ''),
    zero('errors in the log', errors.length, ''),
    zero('requests left open at nodes', servers.open, `of ${servers.requests}`),
    {
      measure: 'faults that nodes played, streams that callers left',
      goal: '> 0',
      measured: `${servers.faults}, ${servers.abandoned}`,
      ok: servers.faults > 0 && servers.abandoned > 0,
    },
    flat('heap after collection', ({ heap }) => heap, limits.heapPerHour, mib),
    {
      measure: 'resident memory, highest (MiB in an hour)',
      goal: `< ${limits.mostResident / mib} MiB`,
      measured: `${(highest / mib).toFixed(1)} MiB (${perHour(usual)})`,
      ok: highest < limits.mostResident,
    },
    flat('open descriptors', ({ descriptors }) => descriptors, limits.descriptorsPerHour, 1),
    {
      measure: 'event-loop delay, p99 (longest)',
      goal: `< ${limits.delayP99Ms} ms`,
      measured: `${ms(p99)} (${ms(longest)})`,
      ok: p99 < limits.delayP99Ms,
    },
    noMore('objects of requests and connections, idle', idle.start, idle.end, 0, ownClasses),
    noMore('other objects, idle, after warm-up → end', idle.warm, idle.end, limits.moreObjects, [
      ...['AbortSignal', 'Function', 'Map', 'Promise', 'Timeout'],
    ]),
    more('heap, idle, after warm-up → end', idle.warm.heap, idle.end.heap, limits.moreHeap),
    more(
      'resident memory, idle, after warm-up → end',
      idle.warm.resident,
      idle.end.resident,
      limits.moreResident,
    ),
    back('open descriptors, idle, start → end', idle.start.descriptors, idle.end.descriptors),
    back('handles and timers, idle, start → end', activeOf(idle.start), activeOf(idle.end)),
    back('listeners of the process, start → end', idle.start.listeners, idle.end.listeners),
    back(
      'series of /metrics, idle, after warm-up → end',
      idle.warm.series,
      idle.end.series,
      limits.moreSeries,
    ),
    zero('warnings of Node.js (listeners that pile up, …)', samples.at(-1)?.warnings.length ?? 0, ''),
  ];
}

function zero(measure: string, count: number, of: string): Verdict {
  return { measure, goal: '0', measured: `${count} ${of}`.trim(), ok: count === 0 };
}

/** Flat: not even the upper bound of the slope is above the limit. */
function growth(samples: readonly Sample[]) {
  return (
    measure: string,
    read: (sample: Sample) => number | undefined,
    limit: number,
    unit: number,
  ): Verdict => {
    const slope = slopeOf(
      samples.flatMap((sample): [number, number][] => {
        const value = read(sample);
        return value === undefined ? [] : [[sample.seconds, value / unit]];
      }),
    );
    return {
      measure: `${measure}: ${unit === mib ? 'MiB ' : ''}in an hour (mean)`,
      goal: `< ${limit / unit}`,
      measured: `${perHour(slope)} (${slope.mean.toFixed(1)})`,
      ok: (slope.perSecond + slope.bound) * 3600 < limit / unit,
    };
  };
}

function perHour({ perSecond, bound }: Slope): string {
  return `${(perSecond * 3600).toFixed(1)} ± ${(bound * 3600).toFixed(1)}`;
}

function back(measure: string, before: number, after: number, allowed = 0): Verdict {
  const goal = allowed === 0 ? 'not more' : `≤ ${allowed} more`;
  return { measure, goal, measured: `${before} → ${after}`, ok: after <= before + allowed };
}

/** Bytes. */
function more(measure: string, before: number, after: number, allowed: number): Verdict {
  return {
    measure,
    goal: `≤ ${allowed / mib} MiB more`,
    measured: `${(before / mib).toFixed(1)} → ${(after / mib).toFixed(1)} MiB`,
    ok: after <= before + allowed,
  };
}

function noMore(
  measure: string,
  before: Idle,
  after: Idle,
  allowed: number,
  classes: readonly string[],
): Verdict {
  const more = classes.flatMap((name) => {
    const [was, is] = [before.objects[name] ?? 0, after.objects[name] ?? 0];
    return is - was > allowed ? [`${name} ${was} → ${is}`] : [];
  });
  const most = Math.max(...classes.map((name) => (after.objects[name] ?? 0) - (before.objects[name] ?? 0)));
  return {
    measure,
    goal: allowed === 0 ? 'not more' : `≤ ${allowed} more of each`,
    measured: more.length === 0 ? `${most > 0 ? '+' : ''}${most} at most` : more.join(', '),
    ok: more.length === 0,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
