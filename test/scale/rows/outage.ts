import { setTimeout as delay } from 'node:timers/promises';
import { below, type Result } from '../../bench/result.ts';
import { type ControllerWork, controllerWork } from '../controller-work.ts';
import type { Lab } from '../lab.ts';
import { hostsOf } from '../population.ts';
import { count } from '../row.ts';
import type { Watched } from '../watched.ts';

/** A check, its jitter, and the writes of a thousand statuses. */
const noticeShare = 1.1;
const writeSeconds = 15;
/** Contacts of one controller at one time. */
const contactLimit = 32;

/** All nodes fail at once, and come back at once: how long until every status says so, and what the nodes saw of it. */
export async function outage(lab: Lab, watched: readonly Watched[]): Promise<Result[]> {
  const limit = ((lab.options.checkSeconds ?? 60) * noticeShare + writeSeconds) * lab.options.patience;
  const works = [await Promise.all(watched.map(controllerWork))];
  lab.upstreams.reset();
  lab.upstreams.fail(true);
  lab.progress('all upstreams fail');
  const failed = await Promise.all(watched.map((one) => until(one, 'error', limit * 2)));
  lab.progress(`statuses said error after ${failed.map((one) => one.toFixed(0)).join(', ')} s`);
  works.push(await Promise.all(watched.map(controllerWork)));
  lab.upstreams.fail(false);
  lab.progress('all upstreams are back');
  const back = await Promise.all(watched.map((one) => until(one, 'ready', limit * 2)));
  works.push(await Promise.all(watched.map(controllerWork)));
  const { contacts, mostAtOnce, mostAtOneHost, mostConnections } = lab.upstreams.seen();
  const results = watched.flatMap(({ size }, index): Result[] => {
    const nodes = count(size.nodes, 'nodes');
    const goal = size === lab.options.sizes.at(-1) ? {} : { goal: '', ok: undefined };
    const times = [...contacts]
      .filter(([host]) => host.startsWith(hostsOf(size)))
      .flatMap(([, each]) => each);
    const busiest = mostInOneSecond(times);
    const figures = { size, failed: failed[index], back: back[index], busiest };
    return [
      {
        ...{ row: 'controller', measure: `all of ${nodes} fail: every status says error` },
        ...below(limit, failed[index] ?? Number.NaN, 's'),
        ...goal,
        note: `${workText(works[0]?.[index], works[1]?.[index])}; most contacts within a second ${busiest}`,
        figures,
      },
      {
        ...{ row: 'controller', measure: `all of ${nodes} come back: every status says ready` },
        ...below(limit, back[index] ?? Number.NaN, 's'),
        ...goal,
        ...{ note: workText(works[1]?.[index], works[2]?.[index]), figures },
      },
    ];
  });
  const most = contactLimit * watched.length;
  return [
    ...results,
    {
      ...{ row: 'controller', measure: 'meanwhile: most contacts at one time, over all controllers' },
      ...{ goal: `≤ ${most}`, measured: String(mostAtOnce), ok: mostAtOnce <= most && mostAtOneHost === 1 },
      note: `with one host ${mostAtOneHost}; connections open at one time ${mostConnections}`,
      figures: { mostAtOnce, mostAtOneHost, mostConnections },
    },
  ];
}

/** What a controller did between two moments; all of them wait for the slowest. */
function workText(before: ControllerWork | undefined, after: ControllerWork | undefined): string {
  if (before === undefined || after === undefined) return '';
  const processor = after.processor - before.processor;
  const [statuses, requests] = [after.statuses - before.statuses, after.requests - before.requests];
  return `${statuses} statuses written, ${requests} requests to the API server, ${processor.toFixed(1)} s of the controller's processor`;
}

/** Seconds until all nodes are in the phase. */
async function until({ size, inPhase }: Watched, phase: string, limitSeconds: number): Promise<number> {
  const began = performance.now();
  for (;;) {
    const seconds = (performance.now() - began) / 1000;
    if ((await inPhase(phase)) === size.nodes) return seconds;
    if (seconds > limitSeconds) return Number.POSITIVE_INFINITY;
    await delay(1_000);
  }
}

function mostInOneSecond(times: readonly number[]): number {
  const perSecond = new Map<number, number>();
  for (const time of times) {
    const second = Math.floor(time / 1000);
    perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
  }
  return Math.max(0, ...perSecond.values());
}
