import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { fineProcessorSeconds, residentBytes } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import { percentile } from '../../bench/statistics.ts';
import type { ChangerOptions, ChangerReport } from '../changer.ts';
import { besideSeconds } from '../key-changes.ts';
import type { Lab } from '../lab.ts';
import { modelNames, type SetSize } from '../population.ts';
import { type Latencies, requestLoad } from '../request-load.ts';
import { requestsLine } from '../requests-line.ts';
import { count, eachSize, judgedIf, type ScaleRow } from '../row.ts';

/** Of the rate that the API server gives for a small set that nobody watches; its collector takes more beside the large one. */
const rateShare = 0.5;

/** Keys switched off and on again, many a second, while a gateway serves: how late a revocation bites, and who else feels it. */
export const changes: ScaleRow = {
  name: 'changes',
  run: async (lab) => {
    // On a machine of its own in production: here it takes what the gateway and its callers leave.
    for (const pid of [lab.servers?.apiServer, lab.servers?.etcd]) if (pid !== undefined) yieldToOthers(pid);
    return eachSize(lab, measure);
  },
};

async function measure(lab: Lab, size: SetSize, isLargest: boolean): Promise<Result[]> {
  const { perSecond, seconds: longest, requestsPerSecond } = lab.options.changes;
  const seconds = isLargest ? longest : Math.min(longest, 10);
  const keys = count(size.keys, 'keys');
  const gateway = await lab.start('gateway', lab.namespace(size));
  try {
    await gateway.whenReady(120_000);
    const [model = ''] = modelNames(0, 1);
    const load = requestLoad(gateway.baseURL(), size, requestsPerSecond);
    await load(2_000);
    lab.progress(`${keys}: ${requestsPerSecond} requests/s, nothing changes`);
    const quiet = await load(Math.min(10, seconds) * 1000);
    const { address } = lab.cluster;
    const order = { address: { ...address }, gateway: gateway.baseURL(), perSecond, model };
    const elsewhere = lab.options.sizes.find((other) => isLargest && other !== size);
    const besideThem = async (other: SetSize): Promise<Base> => {
      lab.progress(`${keys}: ${perSecond} changes a second of keys that this gateway does not watch`);
      const set = { namespace: lab.namespace(other), keys: other.keys - 1 };
      const others = { ...order, ...set, seconds: besideSeconds, isWatched: false };
      const [report, latencies] = await Promise.all([change(others), load(besideSeconds * 1000)]);
      return { rate: report.changes / report.seconds, latencies };
    };
    const before = elsewhere && (await besideThem(elsewhere));
    lab.progress(`${keys}: ${perSecond} changes a second for ${seconds} s`);
    const used = fineProcessorSeconds(gateway.pid);
    const own = { ...order, namespace: lab.namespace(size), keys: size.keys - 1, seconds, isWatched: true };
    const [report, meanwhile] = await Promise.all([change(own), load(seconds * 1000)]);
    const share = ((fineProcessorSeconds(gateway.pid) - used) / seconds) * 100;
    const resident = residentBytes(gateway.pid);
    const after = elsewhere && (await besideThem(elsewhere));
    const base = before && after && (before.rate + after.rate) / 2;
    return [
      ...lines(lab, { keys, isLargest, base, report, share, resident }),
      requestsLine({
        ...{ row: 'changes', keys, besideWhat: 'it does not watch' },
        ...{ quiet, beside: before && after && [...before.latencies, ...after.latencies], meanwhile },
        ...{ isLargest, patience: lab.options.patience },
      }),
    ];
  } finally {
    await gateway.stop('SIGKILL');
  }
}

/** The same machine load, by changes that the gateway does not hear of. */
interface Base {
  readonly rate: number;
  readonly latencies: Latencies;
}

interface Measured {
  readonly keys: string;
  readonly isLargest: boolean;
  /** Changes a second that the API server gives for a set that nobody watches; undefined where it was not measured. */
  readonly base: number | undefined;
  readonly report: ChangerReport;
  readonly share: number;
  readonly resident: number;
}

function lines(lab: Lab, measured: Measured): Result[] {
  const { keys, isLargest, base, report, share, resident } = measured;
  const { perSecond } = lab.options.changes;
  const { patience } = lab.options;
  const goal = judgedIf(isLargest);
  const worst = Math.max(0, ...report.revocations);
  const p99 = percentile(report.revocations, 0.99).toFixed(0);
  const reached = report.changes / report.seconds;
  const wanted = Math.min(perSecond * 0.99, (base ?? perSecond) * rateShare);
  return [
    {
      ...{ row: 'changes', measure: `key changes a second, ${keys}, on the API server` },
      ...{ goal: `≥ ${wanted.toFixed(0)}`, measured: reached.toFixed(0) },
      ok: patience > 1 || reached >= wanted,
      ...goal,
      note: `${perSecond} were asked for; ${base === undefined ? '' : `it gives ${base.toFixed(0)} where no gateway watches, of which ${rateShare} are the goal; `}it answered after ${percentile(report.writes, 0.5).toFixed(0)} ms, p99 ${percentile(report.writes, 0.99).toFixed(0)}; gateway ${share.toFixed(0)} % of a core, ${(resident / 1e6).toFixed(0)} MB`,
      figures: { reached, share, resident, base },
    },
    {
      ...{ row: 'changes', measure: `revocations in force, ${keys}: the latest` },
      ...below(1_000 * patience, worst, 'ms'),
      ...goal,
      ...(report.open === 0 ? {} : { ok: false }),
      note: `after the API server's answer, of ${report.revocations.length}; median ${percentile(report.revocations, 0.5).toFixed(0)}, p99 ${p99}; never: ${report.open}`,
      figures: { worst, revocations: report.revocations.length, open: report.open },
    },
  ];
}

async function change(options: ChangerOptions): Promise<ChangerReport> {
  const worker = new Worker(new URL('../changer.ts', import.meta.url), { workerData: options });
  try {
    return await new Promise<ChangerReport>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  } finally {
    await worker.terminate();
  }
}

function yieldToOthers(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), 10);
  } catch {
    // Not on Linux, or a thread has just ended.
  }
}
