import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { plainRequest } from '../../bench/bench-requests.ts';
import { runPacedLoad } from '../../bench/paced-load.ts';
import { fineProcessorSeconds, residentBytes } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import { percentile } from '../../bench/statistics.ts';
import type { ChangerOptions, ChangerReport } from '../changer.ts';
import type { Lab } from '../lab.ts';
import { keyText, modelNames, type SetSize } from '../population.ts';
import { count, type ScaleRow } from '../row.ts';

const loadMs = 10_000;

/** Keys switched off and on again, many a second, while a gateway serves: how late a revocation bites, and who else feels it. */
export const changes: ScaleRow = {
  name: 'changes',
  run: async (lab) => {
    const results: Result[] = [];
    // On a machine of its own in production: here it takes what the gateway and its callers leave.
    for (const pid of [lab.servers?.apiServer, lab.servers?.etcd]) if (pid !== undefined) yieldToOthers(pid);
    for (const size of lab.options.sizes) {
      results.push(...(await measure(lab, size, size === lab.options.sizes.at(-1))));
    }
    return results;
  },
};

async function measure(lab: Lab, size: SetSize, isLargest: boolean): Promise<Result[]> {
  const { perSecond, seconds: longest, requestsPerSecond } = lab.options.changes;
  const seconds = isLargest ? longest : Math.min(longest, 10);
  const keys = count(size.keys, 'keys');
  const gateway = await lab.start('gateway', lab.namespace(size));
  try {
    await gateway.whenReady(120_000);
    const port = Number(new URL(gateway.baseURL()).port);
    const [model = ''] = modelNames(0, 1);
    // The last key is never changed.
    const caller = { port, key: keyText(size.keys - 1) };
    const request = asking(plainRequest(caller, 1_000), model);
    const load = async (milliseconds: number) => {
      const latencies: number[] = [];
      const ends = performance.now() + milliseconds;
      // In pieces: a connection on which nothing was asked yet is closed by the gateway after a while, with a 408.
      for (let left = milliseconds; left > 0; left = ends - performance.now()) {
        const piece = { port, rate: requestsPerSecond, milliseconds: Math.min(left, loadMs), request };
        for (const latency of await runPacedLoad({ ...piece, expected: {} })) latencies.push(latency);
      }
      return latencies;
    };
    await load(2_000);
    lab.progress(`${keys}: ${requestsPerSecond} requests/s, nothing changes`);
    const quiet = await load(Math.min(10, seconds) * 1000);
    lab.progress(`${keys}: ${perSecond} changes a second for ${seconds} s`);
    const used = fineProcessorSeconds(gateway.pid);
    const [report, busy] = await Promise.all([
      change({
        ...{
          address: { ...lab.cluster.address },
          namespace: lab.namespace(size),
          gateway: gateway.baseURL(),
        },
        ...{ keys: size.keys - 1, perSecond, seconds, model },
      }),
      load(seconds * 1000),
    ]);
    const share = ((fineProcessorSeconds(gateway.pid) - used) / seconds) * 100;
    return lines(lab, { keys, isLargest, quiet, busy, report, share, resident: residentBytes(gateway.pid) });
  } finally {
    await gateway.stop('SIGKILL');
  }
}

interface Measured {
  readonly keys: string;
  readonly isLargest: boolean;
  readonly quiet: readonly number[];
  readonly busy: readonly number[];
  readonly report: ChangerReport;
  readonly share: number;
  readonly resident: number;
}

function lines(lab: Lab, { keys, isLargest, quiet, busy, report, share, resident }: Measured): Result[] {
  const { perSecond } = lab.options.changes;
  const { patience } = lab.options;
  const goal = isLargest ? {} : { goal: '', ok: undefined };
  const worst = Math.max(0, ...report.revocations);
  const [before, after] = [percentile(quiet, 0.99), percentile(busy, 0.99)];
  const p99 = percentile(report.revocations, 0.99).toFixed(0);
  const reached = report.changes / report.seconds;
  return [
    {
      ...{ row: 'changes', measure: `key changes a second, ${keys}` },
      ...{
        goal: `≥ ${perSecond * 0.99}`,
        measured: reached.toFixed(0),
        ok: patience > 1 || reached >= perSecond * 0.99,
      },
      ...goal,
      note: `API server's answer after ${percentile(report.writes, 0.5).toFixed(0)} ms, p99 ${percentile(report.writes, 0.99).toFixed(0)}; gateway ${share.toFixed(0)} % of a core, ${(resident / 1e6).toFixed(0)} MB`,
      figures: { reached, share, resident },
    },
    {
      ...{ row: 'changes', measure: `revocations in force, ${keys}: the latest` },
      ...below(1_000 * patience, worst, 'ms'),
      ...goal,
      ...(report.open === 0 ? {} : { ok: false }),
      note: `after the API server's answer, of ${report.revocations.length}; median ${percentile(report.revocations, 0.5).toFixed(0)}, p99 ${p99}; never: ${report.open}`,
      figures: { worst, revocations: report.revocations.length, open: report.open },
    },
    {
      ...{ row: 'changes', measure: `requests meanwhile, ${keys}: p99 ÷ the quiet one` },
      ...below(2, after / before, ''),
      ...goal,
      // A ratio of two short times says nothing while other tests run.
      ...(patience > 1 ? { goal: '', ok: undefined } : {}),
      note: `${before.toFixed(1)} → ${after.toFixed(1)} ms; median ${percentile(quiet, 0.5).toFixed(1)} → ${percentile(busy, 0.5).toFixed(1)}`,
      figures: { before, after },
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

/** The same request for another model. */
function asking(request: Buffer, model: string): Buffer {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n');
  const text = JSON.stringify({ ...(JSON.parse(body) as object), model });
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  return Buffer.from(`${head.replace(/Content-Length: \d+/, length)}\r\n\r\n${text}`);
}

function yieldToOthers(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), 10);
  } catch {
    // Not on Linux, or a thread has just ended.
  }
}
