import { readdirSync, readlinkSync } from 'node:fs';
import { processorSeconds, residentBytes } from '../bench/processor-time.ts';
import { arrivalDelay } from '../bench/statistics.ts';
import type { Ground } from './ground.ts';

/** The process at one moment. Bytes, milliseconds, counts. */
export interface Sample {
  /** Seconds since the start of the soak. */
  readonly seconds: number;
  readonly resident: number;
  readonly descriptors: number;
  readonly sockets: number;
  /** Of the event loop since the last sample: what a request arriving at a random moment meets in 1 of 100 cases; the longest. */
  readonly delayP99: number;
  readonly delayLongest: number;
  /** Turns of the event loop of 2 ms and more since the last sample, and the time since then. */
  readonly stalls: readonly number[];
  readonly stallsOver: number;
  /** Processor seconds used so far. */
  readonly processor: number;
  /** What keeps the event loop alive: handles, requests and timers. */
  readonly active: number;
  readonly listeners: number;
  readonly warnings: readonly string[];
  /** After a collection; only in thorough samples. */
  readonly heap: number | undefined;
  /** Memory outside the heap; only in thorough samples. */
  readonly external: number | undefined;
  /** Series of `/metrics`; only in thorough samples. */
  readonly series: number | undefined;
}

/** Takes a sample; a `thorough` one collects garbage, which is left out of the loop's delays. */
export async function takeSample(ground: Ground, seconds: number, thorough: boolean): Promise<Sample> {
  const { pid, probe } = ground;
  const { stalls, milliseconds } = await probe.ask('stalls');
  const { resources, listeners, warnings } = await probe.ask('active');
  const heap = thorough ? await probe.ask('heap') : undefined;
  const links = descriptorsOf(pid);
  return {
    seconds,
    resident: residentBytes(pid),
    descriptors: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    delayP99: arrivalDelay(stalls, milliseconds, 0.99),
    delayLongest: Math.max(0, ...stalls),
    stalls,
    stallsOver: milliseconds,
    processor: processorSeconds(pid),
    active: activeOf({ resources }),
    ...{ listeners, warnings },
    heap: heap?.heapUsed,
    external: heap?.external,
    series: thorough ? await seriesOf(ground) : undefined,
  };
}

/** What is open and alive while nothing is asked. */
export interface Idle {
  readonly objects: Readonly<Record<string, number>>;
  readonly resources: Readonly<Record<string, number>>;
  readonly descriptors: number;
  readonly listeners: number;
  readonly series: number;
  /** Bytes after a collection. */
  readonly heap: number;
  readonly resident: number;
}

export async function takeIdle(ground: Ground): Promise<Idle> {
  const { resources, listeners } = await ground.probe.ask('active');
  const descriptors = descriptorsOf(ground.pid).length;
  const series = await seriesOf(ground);
  const objects = await ground.probe.ask('objects');
  const { heapUsed: heap } = await ground.probe.ask('heap');
  return { objects, resources, listeners, series, descriptors, heap, resident: residentBytes(ground.pid) };
}

/** Whether no more is open than at another time when nothing was asked. */
export async function isAsIdleAs({ pid, probe }: Ground, before: Idle): Promise<boolean> {
  const active = activeOf(await probe.ask('active'));
  return active <= activeOf(before) && descriptorsOf(pid).length <= before.descriptors;
}

/** What belongs to requests and connections of ours; of all others Node.js and the product keep some for later. */
export const ownClasses: readonly string[] = [
  ...['Attempt', 'Caller', 'Conversion', 'ConvertedPlain', 'ConvertedStreaming', 'Exchange', 'Progress'],
  ...['RequestBody', 'StreamWatch', 'Pool', 'Slot'],
];

/** What there is more of than before. */
export function leftOver(before: Idle, after: Idle): string[] {
  const more = (name: string, was: number, is: number) => (is > was ? [`${name} ${was} → ${is}`] : []);
  return [
    ...ownClasses.flatMap((name) => more(name, before.objects[name] ?? 0, after.objects[name] ?? 0)),
    ...more('descriptors', before.descriptors, after.descriptors),
    ...more('handles and timers', activeOf(before), activeOf(after)),
    ...more('listeners', before.listeners, after.listeners),
  ];
}

/** Handles, requests and timers that keep the event loop alive. */
export function activeOf({ resources }: Pick<Idle, 'resources'>): number {
  return Object.values(resources).reduce((sum, count) => sum + count, 0);
}

/** Where every open descriptor leads. */
function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`);
    } catch {
      return 'closed meanwhile';
    }
  });
}

async function seriesOf({ admin }: Ground): Promise<number> {
  // A kept connection would be counted.
  const headers = { connection: 'close' };
  const answer = await fetch(`${admin}/metrics`, { headers, signal: AbortSignal.timeout(10_000) });
  const lines = (await answer.text()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#')).length;
}
