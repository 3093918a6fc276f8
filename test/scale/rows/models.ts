import { processorSeconds } from '../../bench/processor-time.ts';
import { below, type Result } from '../../bench/result.ts';
import { eventually } from '../../support/eventually.ts';
import { resourcesOf, type Stored } from '../../support/resources.ts';
import { count, judgedIf, type ScaleRow } from '../row.ts';

/** The bound of `status.models`. */
const statusBytes = 640 * 1024;
const limitSeconds = 5;

/** One node that lists more and more models: time until its status has them, its size, and what it costs. */
export const models: ScaleRow = {
  name: 'models',
  run: async (lab) => {
    const { cluster, upstreams, options } = lab;
    const namespace = await cluster.newNamespace('scale-models');
    const resources = resourcesOf(cluster);
    const controller = await lab.start('controller', namespace);
    const results: Result[] = [];
    try {
      await controller.whenReady();
      for (const [index, models] of options.modelCounts.entries()) {
        lab.progress(`one node with ${models} models`);
        upstreams.models(models);
        const name = `models-${models}`;
        const used = processorSeconds(controller.pid);
        const began = performance.now();
        const baseURL = `http://127.80.0.${index + 1}:${upstreams.port}/v1`;
        await resources.create('UpstreamNode', namespace, name, { baseURL });
        let node: Stored | undefined;
        await eventually(
          `${name} is ready`,
          async () => {
            node = await resources.get('UpstreamNode', namespace, name);
            return node.status?.phase === 'ready' && node.status['modelCount'] === models;
          },
          60_000,
        );
        const seconds = (performance.now() - began) / 1000;
        const processor = processorSeconds(controller.pid) - used;
        const bytes = Buffer.byteLength(JSON.stringify(node?.status?.models ?? []));
        const listed = node?.status?.models?.length ?? 0;
        const isWhole =
          bytes <= statusBytes && (listed === models || node?.status?.['modelsTruncated'] === true);
        const isLargest = models === options.modelCounts.at(-1);
        const goal = judgedIf(isLargest);
        results.push({
          ...{ row: 'models', measure: `a node lists ${count(models, 'models')}: its status has them` },
          ...below(limitSeconds * options.patience, seconds, 's'),
          ...goal,
          ...(isWhole ? {} : { ok: false }),
          note: `${listed} listed in ${(bytes / 1024).toFixed(0)} KiB of status; ${processor.toFixed(2)} s of the controller's processor`,
          figures: { models, seconds, bytes, listed, processor },
        });
      }
    } finally {
      await controller.stop('SIGTERM');
      upstreams.models(options.sizes[0]?.modelsPerNode ?? 0);
    }
    return results;
  },
};
