import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { labOf } from '../scale/lab.ts';
import { short } from '../scale/options.ts';
import { populate } from '../scale/population.ts';
import { haveStatuses } from '../scale/prepared-cluster.ts';
import { changes } from '../scale/rows/changes.ts';
import { models } from '../scale/rows/models.ts';
import { newKeys } from '../scale/rows/new-keys.ts';
import { ready } from '../scale/rows/ready.ts';
import { runRow } from '../scale/run-row.ts';
import { startUpstreams } from '../scale/upstreams.ts';
import { sharedCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import type { Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

const nodeCount = 200;
const hostCount = 20;
/** At most this many contacts with upstreams at one time, and one with each host. */
const contactLimit = 32;
const answerMs = 20;
const syncLimitMs = 60_000;
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['scale'] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function nodes(): Promise<Stored[]> {
  const path = `/apis/modelgateway.dev/v1alpha1/namespaces/${stage.home}/upstreamnodes`;
  return ((await stage.cluster.client.ask('GET', path)) as { items: Stored[] }).items;
}

test(`${nodeCount} nodes made at once are all synced, with few contacts at a time`, async () => {
  const { home, resources } = stage;
  let inFlight = 0;
  let most = 0;
  let mostOfOneHost = 0;
  const upstreams = await Promise.all(
    Array.from({ length: hostCount }, async () => {
      const upstream = await stage.upstream();
      let ofHost = 0;
      upstream.respondWith('*', {
        kind: 'run',
        async run({ response }) {
          inFlight += 1;
          ofHost += 1;
          most = Math.max(most, inFlight);
          mostOfOneHost = Math.max(mostOfOneHost, ofHost);
          await new Promise((resolve) => setTimeout(resolve, answerMs));
          inFlight -= 1;
          ofHost -= 1;
          const data = ['a', 'b', 'c'].map((id) => ({ id, object: 'model' }));
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ object: 'list', data }));
        },
      });
      return upstream;
    }),
  );
  const began = performance.now();
  await Promise.all(
    Array.from({ length: nodeCount }, (_, index) =>
      resources.create('UpstreamNode', home, `node-${index}`, {
        baseURL: upstreams[index % hostCount]?.url ?? '',
        healthCheck: { mode: 'None' },
      }),
    ),
  );
  const isReady = ({ status }: Stored) => status?.phase === 'ready' && status['modelCount'] === 3;
  await eventually(
    'all are ready',
    async () => (await nodes()).filter(isReady).length === nodeCount,
    syncLimitMs,
    200,
  );
  measured(`${nodeCount} nodes applied → all synced`, performance.now() - began, syncLimitMs);
  console.log(`measured: at most ${most} contacts at a time, ${mostOfOneHost} with one host`);
  expect(most).toBeLessThanOrEqual(contactLimit);
  expect(mostOfOneHost).toBe(1);
  const requests = () => upstreams.reduce((sum, upstream) => sum + upstream.requests.length, 0);
  expect(requests()).toBe(nodeCount);

  const caller = stage.caller(await resources.addKey(home, 'caller'));
  await eventually('they serve', async () => (await caller.send('GET', '/models/c')).status === 200);

  // A controller that takes over finds all done, and comes at the upstreams with nothing.
  await stage.controllers[0]?.stop('SIGTERM');
  const before = (await nodes()).map(({ metadata }) => metadata.resourceVersion);
  const next = await stage.start('controller');
  await next.whenReady();
  await eventually('it leads', () => next.log().some(({ msg }) => msg === 'Started leading'), 20_000);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(requests()).toBe(nodeCount);
  expect((await nodes()).map(({ metadata }) => metadata.resourceVersion)).toEqual(before);
});

// Its model servers have addresses of 127.0.0.0/8, which other systems give one by one.
test.runIf(process.platform === 'linux')('what npm run scale measures, in its short form', async () => {
  const [size] = short.sizes;
  if (size === undefined) throw new Error('no size');
  const cluster = sharedCluster();
  const upstreams = await startUpstreams(0, size.modelsPerNode);
  try {
    const namespaceSuffix = `-${randomBytes(4).toString('hex')}`;
    const lab = labOf({ options: short, cluster, servers: undefined, upstreams, namespaceSuffix });
    await populate(cluster, size, lab.namespace(size), upstreams.port);
    await haveStatuses(cluster.address.kubeconfig, lab.namespace(size), size);
    for (const row of [ready, models, newKeys, changes]) {
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
