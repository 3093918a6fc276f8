import { residentBytes } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import { eventually } from '../../support/eventually.ts';
import type { RoleProcess } from '../../support/processes.ts';
import { resourcePathOf } from '../../support/resources.ts';
import { apiRequests, requestsOf } from '../api-requests.ts';
import { controllerWork } from '../controller-work.ts';
import type { Lab } from '../lab.ts';
import { gauge } from '../metric-text.ts';
import { eachOf, hostsOf, nodeName, type SetSize } from '../population.ts';
import { count, judgedIf, type ScaleRow } from '../row.ts';
import { wait } from '../wait.ts';
import type { Watched } from '../watched.ts';
import { outage } from './outage.ts';

/** Where the jitter of a check ends, and what one waits for others at its host and in the queue. */
const lateShare = 1.1;
const lateSeconds = 2;

/** How much of the warm-up passes before all nodes fail: controllers look at 100,000 keys meanwhile. */
const shareBeforeOutage = 0.2;

/**
 * Controllers on each set: all nodes fail at once, and come back; then, at rest, processor, writes, and whether checks come in
 * time. The outage comes first because controllers that have just started must wait before they are at rest anyway: statuses that
 * lay in the cache for a week are all overdue, and their syncs are spread over five minutes.
 */
export const controller: ScaleRow = {
  name: 'controller',
  run: async (lab) => {
    for (const size of lab.options.sizes) await setCheckInterval(lab, size);
    const watched = await Promise.all(lab.options.sizes.map((size) => start(lab, size)));
    const gateway = await lab.start('gateway', lab.namespace(lab.options.sizes.at(-1) as SetSize));
    try {
      await gateway.whenReady(120_000);
      const { warmUpSeconds } = lab.options;
      const began = performance.now();
      await wait(lab, 'letting controllers start', warmUpSeconds * shareBeforeOutage);
      const failing = await outage(lab, watched);
      for (const { measure, measured } of failing) lab.progress(`${measure}: ${measured}`);
      const left = warmUpSeconds - (performance.now() - began) / 1000;
      await wait(lab, 'letting controllers come to rest', Math.max(0, left));
      return [...failing, ...(await atRest(lab, watched, gateway))];
    } finally {
      await Promise.all(
        [gateway, ...watched.map(({ process }) => process)].map((one) => one.stop('SIGTERM')),
      );
    }
  },
};

/** Gives nodes the interval of the options, where these name one. */
async function setCheckInterval(lab: Lab, size: SetSize): Promise<void> {
  const { checkSeconds } = lab.options;
  if (checkSeconds === undefined) return;
  const body = { spec: { healthCheck: { intervalSeconds: checkSeconds } } };
  await eachOf(size.nodes, async (index) => {
    const path = resourcePathOf('UpstreamNode', lab.namespace(size), nodeName(index));
    await lab.cluster.client.ask('PATCH', path, { body });
  });
}

async function start(lab: Lab, size: SetSize): Promise<Watched> {
  const process = await lab.start('controller', lab.namespace(size));
  await process.whenReady(120_000);
  await eventually(
    'the controller leads',
    async () => gauge((await process.probe('/metrics')).body, 'leader_election_master_status') === 1,
    40_000,
    200,
  );
  const inPhase = async (phase: string) =>
    gauge((await process.probe('/metrics')).body, 'modelgateway_node_phase', { phase });
  return { size, process, inPhase };
}

async function atRest(lab: Lab, watched: readonly Watched[], gateway: RoleProcess): Promise<Result[]> {
  const { steadySeconds, checkSeconds = 60 } = lab.options;
  lab.upstreams.reset();
  const began = performance.now();
  const before = await Promise.all(watched.map(controllerWork));
  const gatewayBefore = await requestsOf(gateway);
  const serverBefore = await apiRequests(lab.cluster);
  await wait(lab, 'watching controllers at rest', steadySeconds);
  const after = await Promise.all(watched.map(controllerWork));
  const gatewayAfter = await requestsOf(gateway);
  const serverAfter = await apiRequests(lab.cluster);
  const seconds = (performance.now() - began) / 1000;
  const { contacts, mostAtOnce } = lab.upstreams.seen();
  const results = watched.flatMap(({ size, process }, index): Result[] => {
    const nodes = count(size.nodes, 'nodes');
    const isLargest = size === lab.options.sizes.at(-1);
    const goal = judgedIf(isLargest);
    const [one, two] = [before[index], after[index]];
    if (one === undefined || two === undefined) return [];
    const share = ((two.processor - one.processor) / seconds) * 100;
    const statuses = two.statuses - one.statuses;
    const writes = (statuses / size.nodes) * (300 / seconds);
    const times = [...contacts].filter(([host]) => host.startsWith(hostsOf(size))).map(([, each]) => each);
    const gaps = times.flatMap((each) => gapsOf(each, began, began + seconds * 1000));
    const never = size.nodes - times.length;
    const longest = never > 0 ? Number.POSITIVE_INFINITY : Math.max(0, ...gaps) / 1000;
    return [
      {
        ...{ row: 'controller', measure: `controller at rest, ${nodes}: processor` },
        ...below(5 * lab.options.patience, share, '% of a core'),
        ...goal,
        note: `${(residentBytes(process.pid) / 1e6).toFixed(0)} MB resident`,
        figures: { size, share, seconds },
      },
      {
        ...{
          row: 'controller',
          measure: `controller at rest, ${nodes}: status writes per node in 5 minutes`,
        },
        ...below(lab.options.patience === 1 ? 1 : 100, writes, ''),
        ...goal,
        note: `${statuses} writes in ${seconds.toFixed(1)} s; ${((two.requests - one.requests) / seconds).toFixed(1)} requests/s to the API server in all`,
        figures: { size, statuses, writes, requests: two.requests - one.requests },
      },
      {
        ...{ row: 'controller', measure: `controller at rest, ${nodes}: longest time between two checks` },
        ...below((checkSeconds * lateShare + lateSeconds) * lab.options.patience, longest, 's'),
        ...goal,
        note: `asked every ${checkSeconds} s ± 10 %; ${never} never asked, ${gaps.length} times measured`,
        figures: { size, longest, never },
      },
    ];
  });
  const ofGateway = (gatewayAfter - gatewayBefore) / seconds;
  const ofServer = (serverAfter.ours - serverBefore.ours) / seconds;
  const perSecond = (of: number) => `${of.toFixed(2)}/s`;
  const ofControllers = after.reduce(
    (sum, two, index) => sum + two.requests - (before[index]?.requests ?? 0),
    0,
  );
  return [
    ...results,
    {
      ...{
        row: 'controller',
        measure: 'requests to the API server, a gateway at rest',
        goal: '',
        ok: undefined,
      },
      measured: perSecond(ofGateway),
      note: `apiserver_request_total of our kinds, Leases, Events, Secrets: ${perSecond(ofServer)}, of which the controllers ${perSecond(ofControllers / seconds)}`,
      figures: { ofGateway, ofServer, verbs: difference(serverAfter.verbs, serverBefore.verbs), mostAtOnce },
    },
  ];
}

function gapsOf(times: readonly number[], began: number, ended: number): number[] {
  const edges = [began, ...times, ended];
  return edges.slice(1).map((time, index) => time - (edges[index] ?? time));
}

function difference(after: Readonly<Record<string, number>>, before: Readonly<Record<string, number>>) {
  return Object.fromEntries(
    Object.entries(after)
      .map(([verb, value]) => [verb, value - (before[verb] ?? 0)] as const)
      .filter(([, value]) => value > 0),
  );
}
