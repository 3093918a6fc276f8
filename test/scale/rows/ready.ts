import { setTimeout as delay } from 'node:timers/promises';
import { processorSeconds, residentBytes } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import type { Lab } from '../lab.ts';
import { gauge } from '../metric-text.ts';
import { peakBytes } from '../peak-bytes.ts';
import type { SetSize } from '../population.ts';
import { count, eachSize, judgedIf, type ScaleRow } from '../row.ts';

/** A gateway starts on each set: when it is ready, and its memory then, at its peak and after a while. */
export const ready: ScaleRow = {
  name: 'ready',
  run: (lab) => eachSize(lab, measure),
};

/** Of the largest set. */
const starts = 3;

async function measure(lab: Lab, size: SetSize, isLargest: boolean): Promise<Result[]> {
  const { patience, settleSeconds } = lab.options;
  const set = `${count(size.keys, 'keys')}, ${count(size.nodes, 'nodes')}`;
  const all: Start[] = [];
  const wanted = isLargest && patience <= 1 ? starts : 1;
  while (all.length < wanted) {
    if (isLargest) await collectServer(lab);
    lab.progress(`starting a gateway with ${set}`);
    all.push(await start(lab, size));
  }
  all.sort((a, b) => a.seconds - b.seconds);
  const { seconds, own, server } = all[Math.floor(all.length / 2)] as Start;
  const [largest] = all.toSorted((a, b) => mostOf(b) - mostOf(a)) as [Start];
  const { atReady, settled, peak, heap, outside } = largest;
  const each = all.map((one) => `${one.seconds.toFixed(1)} (${one.server.toFixed(1)})`).join(', ');
  const goal = judgedIf(isLargest);
  return [
    {
      ...{
        row: 'ready',
        measure: `gateway ready, ${set}${all.length === 1 ? '' : `, median of ${all.length}`}`,
      },
      ...below(10 * patience, seconds, 's'),
      ...goal,
      note: `${own.toFixed(1)} s of its processor, ${server.toFixed(1)} s of the API server's${all.length === 1 ? '' : `; each with the API server's: ${each}`}`,
      figures: { size, seconds, own, server, all },
    },
    {
      ...{ row: 'ready', measure: `gateway's memory, ${set}` },
      ...below(300, mostOf(largest), 'MB'),
      ...goal,
      note: `at ready ${atReady.toFixed(0)}, ${settleSeconds} s later ${settled.toFixed(0)}, at its peak while it loaded ${peak.toFixed(0)}; heap ${heap.toFixed(0)}, outside ${outside.toFixed(0)}`,
      figures: { size, atReady, settled, peak, heap, outside },
    },
  ];
}

/** Times in seconds, of the processor too (`own`, and the API server's); memory in MB. */
interface Start {
  readonly seconds: number;
  readonly own: number;
  readonly server: number;
  readonly atReady: number;
  readonly settled: number;
  readonly peak: number;
  readonly heap: number;
  readonly outside: number;
}

function mostOf({ atReady, settled }: Start): number {
  return Math.max(atReady, settled);
}

/**
 * Lets the API server collect its own garbage before. It does so once in about three starts, for 5 s of processor: as much of the
 * same two cores as the gateway needs for its start.
 */
async function collectServer({ cluster }: Lab): Promise<void> {
  const { status } = await cluster.client.send('GET', '/debug/pprof/heap?gc=1', { timeoutMs: 60_000 });
  if (status !== 200) throw new Error(`the API server answered ${status} when asked to collect its garbage`);
}

async function start(lab: Lab, size: SetSize): Promise<Start> {
  const serverBefore = processorSeconds(lab.servers?.apiServer ?? 0);
  const began = performance.now();
  const gateway = await lab.start('gateway', lab.namespace(size));
  try {
    await gateway.whenReady(120_000);
    const seconds = (performance.now() - began) / 1000;
    const own = processorSeconds(gateway.pid);
    const server = processorSeconds(lab.servers?.apiServer ?? 0) - serverBefore;
    const atReady = residentBytes(gateway.pid) / 1e6;
    await delay(lab.options.settleSeconds * 1000);
    const settled = residentBytes(gateway.pid) / 1e6;
    const peak = peakBytes(gateway.pid) / 1e6;
    const { body } = await gateway.probe('/metrics');
    const heap = gauge(body, 'nodejs_heap_size_used_bytes') / 1e6;
    const outside = gauge(body, 'nodejs_external_memory_bytes') / 1e6;
    return { seconds, own, server, atReady, settled, peak, heap, outside };
  } finally {
    await gateway.stop('SIGKILL');
  }
}
