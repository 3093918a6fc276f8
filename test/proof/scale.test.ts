import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { labOf } from '../scale/lab.ts';
import { short } from '../scale/options.ts';
import { populate } from '../scale/population.ts';
import { haveStatuses } from '../scale/prepared-cluster.ts';
import { changes } from '../scale/rows/changes.ts';
import { models } from '../scale/rows/models.ts';
import { newKeys } from '../scale/rows/new-keys.ts';
import { ready } from '../scale/rows/ready.ts';
import { replay } from '../scale/rows/replay.ts';
import { runRow } from '../scale/run-row.ts';
import { startUpstreams } from '../scale/upstreams.ts';
import { sharedCluster } from '../support/cluster.ts';

// Its model servers have addresses of 127.0.0.0/8, which other systems give one by one.
test.runIf(process.platform === 'linux')('what npm run scale measures, in its short form', async () => {
  const [size] = short.sizes;
  if (size === undefined) throw new Error('no size');
  const cluster = sharedCluster();
  await cluster.applyCrds();
  const upstreams = await startUpstreams(0, size.modelsPerNode);
  try {
    const namespaceSuffix = `-${randomBytes(4).toString('hex')}`;
    const lab = labOf({ options: short, cluster, servers: undefined, upstreams, namespaceSuffix });
    await populate(cluster, size, lab.namespace(size), upstreams.port);
    await haveStatuses(cluster.address.kubeconfig, lab.namespace(size), size);
    for (const row of [ready, models, newKeys, changes, replay]) {
      const results = await runRow(row, lab);
      for (const { measure, measured: figure, note } of results) {
        console.log(`measured: ${measure}: ${figure} (${note})`);
      }
      expect(results.filter(({ ok }) => ok === false)).toEqual([]);
    }
  } finally {
    upstreams.stop();
  }
});
