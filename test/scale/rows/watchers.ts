import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { processorSeconds, residentBytes } from '../../bench/processor-time.ts';
import type { Result } from '../../bench/result.ts';
import { resourcePathOf } from '../../support/resources.ts';
import { keyBody, keyName } from '../population.ts';
import { count, type ScaleRow } from '../row.ts';
import type { WatcherOptions } from '../watcher.ts';

const changesPerSecond = 50;
const seconds = 6;

/** Watches as many gateways hold them: what one more costs the API server, open and for each change. */
export const watchers: ScaleRow = {
  name: 'watchers',
  run: async (lab) => {
    if (lab.servers === undefined) return [];
    const { apiServer } = lab.servers;
    const namespace = await lab.cluster.newNamespace('scale-watchers');
    await lab.cluster.client.ask('POST', resourcePathOf('APIKey', namespace), { body: keyBody(0) });
    const path = resourcePathOf('APIKey', namespace, keyName(0));
    const results: Result[] = [];
    for (const number of lab.options.watchers) {
      lab.progress(`${number} watches, ${changesPerSecond} changes a second`);
      const options: WatcherOptions = {
        address: { ...lab.cluster.address },
        path: `${resourcePathOf('APIKey', namespace)}?watch=true&timeoutSeconds=120`,
        watches: number,
      };
      const before = residentBytes(apiServer);
      const worker = new Worker(new URL('../watcher.ts', import.meta.url), { workerData: options });
      try {
        await new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        });
        const resident = residentBytes(apiServer) - before;
        const used = processorSeconds(apiServer);
        const began = performance.now();
        let made = 0;
        while (performance.now() - began < seconds * 1000) {
          const body = { spec: { enabled: made % 2 === 0 } };
          await lab.cluster.client.ask('PATCH', path, { body });
          made += 1;
          await delay(Math.max(0, (made / changesPerSecond) * 1000 - (performance.now() - began)));
        }
        const processor = processorSeconds(apiServer) - used;
        results.push({
          ...{
            row: 'watchers',
            measure: `a change seen by ${count(number, 'watches')}: processor of the API server`,
          },
          ...{ goal: '', measured: `${((processor / made) * 1000).toFixed(2)} ms`, ok: undefined },
          note: `${made} changes in ${seconds} s; the watches took ${(resident / 1e6).toFixed(0)} MB of its memory`,
          figures: { number, made, processor, resident },
        });
      } finally {
        await worker.terminate();
      }
    }
    return results;
  },
};
