import { processorSeconds } from '../../bench/processor-time.ts';
import type { Result } from '../../bench/result.ts';
import { eventually } from '../../support/eventually.ts';
import { resourcePathOf } from '../../support/resources.ts';
import { gauge } from '../metric-text.ts';
import { eachOf, keyBody } from '../population.ts';
import { count, type ScaleRow } from '../row.ts';

/** Many keys made at once: how long until each has its status. They open before, as soon as a gateway's watch has them. */
export const newKeys: ScaleRow = {
  name: 'new-keys',
  run: async (lab) => {
    const results: Result[] = [];
    for (const keys of lab.options.newKeys) {
      lab.progress(`making ${keys} keys at once`);
      const namespace = await lab.cluster.newNamespace('scale-new');
      const controller = await lab.start('controller', namespace);
      try {
        await controller.whenReady();
        const server = processorSeconds(lab.servers?.apiServer ?? 0);
        const began = performance.now();
        const path = resourcePathOf('APIKey', namespace);
        await eachOf(keys, (index) => lab.cluster.client.ask('POST', path, { body: keyBody(index) }));
        const made = (performance.now() - began) / 1000;
        const ofServer = processorSeconds(lab.servers?.apiServer ?? 0) - server;
        const labels = { kind: 'APIKey', ready: 'True' };
        await eventually(
          'all keys have a status',
          async () => {
            const { body } = await controller.probe('/metrics');
            return gauge(body, 'modelgateway_resources', labels) === keys;
          },
          60_000 + keys * 50,
          200,
        );
        const seconds = (performance.now() - began) / 1000;
        const all = processorSeconds(lab.servers?.apiServer ?? 0) - server;
        const own = processorSeconds(controller.pid);
        results.push({
          ...{ row: 'new-keys', measure: `${count(keys, 'keys')} made at once: all have a status` },
          ...{ goal: '', measured: `${seconds.toFixed(1)} s`, ok: undefined },
          note: `made in ${made.toFixed(1)} s; API server ${all.toFixed(1)} s of processor (${ofServer.toFixed(1)} while they were made), controller ${own.toFixed(1)} s since its start`,
          figures: { keys, seconds, made, all, ofServer, own },
        });
      } finally {
        await controller.stop('SIGTERM');
      }
    }
    return results;
  },
};
