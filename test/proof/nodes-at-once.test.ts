import { afterAll, beforeAll, expect, test } from 'vitest';
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
  // A quarter of the 16 contacts that one host may have.
  expect(mostOfOneHost).toBeLessThanOrEqual(4);
  const requests = () => upstreams.reduce((sum, upstream) => sum + upstream.requests.length, 0);
  // Nodes with the same address and credential share a contact that is waiting.
  const asked = requests();
  expect(asked).toBeGreaterThanOrEqual(hostCount);
  expect(asked).toBeLessThanOrEqual(nodeCount);

  const caller = stage.caller(await resources.addKey(home, 'caller'));
  await eventually('they serve', async () => (await caller.send('GET', '/models/c')).status === 200);

  // A controller that takes over finds all done, and comes at the upstreams with nothing.
  await stage.controllers[0]?.stop('SIGTERM');
  const before = (await nodes()).map(({ metadata }) => metadata.resourceVersion);
  const next = await stage.start('controller');
  await next.whenReady();
  await eventually('it leads', () => next.log().some(({ msg }) => msg === 'Started leading'), 20_000);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(requests()).toBe(asked);
  expect((await nodes()).map(({ metadata }) => metadata.resourceVersion)).toEqual(before);
});
