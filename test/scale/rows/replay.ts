import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { fineProcessorSeconds, residentBytes } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import { percentile } from '../../bench/statistics.ts';
import type { RoleProcess } from '../../support/processes.ts';
import { besideSeconds } from '../key-changes.ts';
import type { Lab } from '../lab.ts';
import { gauge } from '../metric-text.ts';
import { modelNames, type SetSize } from '../population.ts';
import { readObjects } from '../replayed-objects.ts';
import type { ReplayerOptions, ReplayOrder, ReplayReport } from '../replayer.ts';
import { type Latencies, requestLoad } from '../request-load.ts';
import { requestsLine } from '../requests-line.ts';
import { count, eachSize, judgedIf, type ScaleRow } from '../row.ts';

/**
 * The gateway's own part of `changes`, at the full rate: a thread plays the API server, which on two cores cannot give so many,
 * with the objects that it holds.
 */
export const replay: ScaleRow = {
  name: 'replay',
  run: (lab) => eachSize(lab, measure),
};

async function measure(lab: Lab, size: SetSize, isLargest: boolean): Promise<Result[]> {
  const { perSecond, seconds: longest, requestsPerSecond } = lab.options.changes;
  const seconds = isLargest ? longest : Math.min(longest, 10);
  const keys = count(size.keys, 'keys');
  const namespace = lab.namespace(size);
  lab.progress(`${keys}: reading what a thread is to play in the API server's place`);
  const objects = await readObjects(lab.cluster.client, namespace, size);
  const folder = join(lab.cluster.address.folder, 'credentials');
  const certificate = { cert: join(folder, 'serving.crt'), key: join(folder, 'serving.key') };
  const workerData: ReplayerOptions = { objects, certificate };
  const worker = new Worker(new URL('../replayer.ts', import.meta.url), { workerData });
  const gateways: RoleProcess[] = [];
  const startOn = async (server: string, token: string): Promise<RoleProcess> => {
    const kubeconfig = await writeKubeconfig(lab, server, token);
    const gateway = await lab.start('gateway', namespace, kubeconfig);
    gateways.push(gateway);
    await gateway.whenReady(120_000);
    return gateway;
  };
  try {
    const server = await answerOf<string>(worker);
    const gateway = await startOn(server, 'measured');
    const other = await startOn(server, 'other');
    const load = requestLoad(gateway.baseURL(), size, requestsPerSecond);
    const [model = ''] = modelNames(0, 1);
    const order = { model, keys: size.keys - 1, perSecond, seconds };
    await load(2_000);
    lab.progress(`${keys}: ${requestsPerSecond} requests/s, nothing changes`);
    const quiet = await load(Math.min(10, seconds) * 1000);
    const toOther = {
      ...order,
      ...{ token: 'other', gateway: other.baseURL(), seconds: Math.min(besideSeconds, seconds) },
    };
    const besideThem = async (): Promise<Latencies> => {
      lab.progress(
        `${keys}: ${perSecond} changes a second for ${toOther.seconds} s, replayed to another gateway`,
      );
      const [, latencies] = await Promise.all([changed(worker, toOther), load(toOther.seconds * 1000)]);
      return latencies;
    };
    const before = await besideThem();
    lab.progress(`${keys}: ${perSecond} changes a second for ${seconds} s, replayed`);
    await gateway.probe('/metrics');
    const used = fineProcessorSeconds(gateway.pid);
    const own = { ...order, token: 'measured', gateway: gateway.baseURL() };
    const [report, meanwhile] = await Promise.all([changed(worker, own), load(seconds * 1000)]);
    const share = ((fineProcessorSeconds(gateway.pid) - used) / seconds) * 100;
    // Of the time since the metrics were last read.
    const lag = gauge((await gateway.probe('/metrics')).body, 'nodejs_eventloop_lag_p99_seconds') * 1000;
    const resident = residentBytes(gateway.pid);
    const beside = [...before, ...(await besideThem())];
    return [
      ...lines(lab, { keys, isLargest, report, share, lag, resident }),
      requestsLine({
        ...{ row: 'replay', keys: `${keys}, replayed`, besideWhat: 'of another gateway' },
        ...{ quiet, beside, meanwhile, isLargest, patience: lab.options.patience },
      }),
    ];
  } finally {
    for (const gateway of gateways) await gateway.stop('SIGKILL');
    await worker.terminate();
  }
}

interface Measured {
  readonly keys: string;
  readonly isLargest: boolean;
  readonly report: ReplayReport;
  /** Percent of a core that the gateway took. */
  readonly share: number;
  /** p99 of its event loop's delay, in milliseconds. */
  readonly lag: number;
  readonly resident: number;
}

function lines(lab: Lab, measured: Measured): Result[] {
  const { keys, isLargest, report, share, lag, resident } = measured;
  const { perSecond } = lab.options.changes;
  const { patience } = lab.options;
  const goal = judgedIf(isLargest);
  const worst = Math.max(0, ...report.revocations);
  const reached = report.changes / report.seconds;
  return [
    {
      ...{ row: 'replay', measure: `key changes a second, ${keys}, replayed` },
      ...{ goal: `≥ ${perSecond * 0.99}`, measured: reached.toFixed(0) },
      ok: patience > 1 || reached >= perSecond * 0.99,
      ...goal,
      note: `gateway ${share.toFixed(0)} % of a core, ${(resident / 1e6).toFixed(0)} MB; delay of its event loop, p99 ${lag.toFixed(1)} ms`,
      figures: { reached, share, lag, resident },
    },
    {
      ...{ row: 'replay', measure: `revocations in force, ${keys}, replayed: the latest` },
      ...below(1_000 * patience, worst, 'ms'),
      ...goal,
      ...(report.open === 0 ? {} : { ok: false }),
      note: `after it was sent, of ${report.revocations.length}; median ${percentile(report.revocations, 0.5).toFixed(1)}, p99 ${percentile(report.revocations, 0.99).toFixed(1)}; never: ${report.open}`,
      figures: { worst, revocations: report.revocations.length, open: report.open },
    },
  ];
}

function changed(worker: Worker, order: ReplayOrder): Promise<ReplayReport> {
  const report = answerOf<ReplayReport>(worker);
  worker.postMessage(order);
  return report;
}

async function answerOf<T>(worker: Worker): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  worker.once('message', resolve);
  worker.once('error', reject);
  try {
    return await promise;
  } finally {
    worker.off('error', reject);
  }
}

async function writeKubeconfig(lab: Lab, server: string, token: string): Promise<string> {
  const path = join(lab.cluster.address.folder, `replayer-${new URL(server).port}-${token}.kubeconfig`);
  const ca = Buffer.from(lab.cluster.address.ca).toString('base64');
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'replayer' },
    clusters: [{ name: 'replayer', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'replayer', user: { token } }],
    contexts: [{ name: 'replayer', context: { cluster: 'replayer', user: 'replayer' } }],
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}
