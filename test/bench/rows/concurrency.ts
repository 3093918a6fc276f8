import { atLeast, type Result, type Row } from '../result.ts';
import { measureFullNode } from '../sharing/full-node.ts';

/** A node with four slots and more callers than that, in this process. */
export const concurrency: Row = {
  name: 'concurrency',
  run: async ({ options, progress }) => {
    if (options.gateway === 'bare') return [];
    progress('100 callers of a node with 4 slots; one key beside another with 1,000 requests waiting');
    const figures = await measureFullNode({ callers: 100, turns: 20, batch: 1_000, interactive: 200 });
    const line = (measure: string, goal: string, measured: string, ok: boolean): Result => ({
      ...{ row: 'concurrency', measure, goal, measured, ok, note: '', figures: { ...figures } },
    });
    const { most, refused, throughput, wait } = figures;
    return [
      line('most requests at a node with 4 slots, 100 callers', '≤ 4', String(most), most <= 4),
      line('refused within the queue’s time', '0', String(refused), refused === 0),
      {
        ...{ row: 'concurrency', measure: 'throughput ÷ the node’s own', ...atLeast(0.95, throughput) },
        ...{ note: '', figures: { ...figures } },
      },
      line('wait beside 1,000 of another key, p99', '≤ 2 service times', wait.toFixed(2), wait <= 2),
    ];
  },
};
