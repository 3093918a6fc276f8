import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';
import type { ScriptedUpstream } from '../support/upstream.ts';

const takeoverLimitMs = 40_000;
/** A released lease is taken at the next attempt, and those are 2 s apart. */
const handoverLimitMs = 10_000;
const nodeCount = 20;
let stage: Stage;
let upstream: ScriptedUpstream;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['election'], roles: ['controller'] });
  await stage.start('controller');
  await stage.controllers[1]?.whenReady();
  upstream = await stage.upstream({ models: ['m'] });
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
  await Promise.all(names.map(addNode));
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** A node that nothing contacts but a sync, so that each request for its list is a sync. */
function addNode(name: string) {
  const baseURL = `${upstream.url.replace(/\/v1$/, '')}/${name}/v1`;
  return stage.resources.create('UpstreamNode', stage.home, name, { baseURL, healthCheck: { mode: 'None' } });
}

function listings(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of upstream.requests) {
    const name = path.split('/')[1] ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

const microTime = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
const leaseSchema = z.object({
  spec: z.object({
    holderIdentity: z.string(),
    leaseDurationSeconds: z.number(),
    leaseTransitions: z.number(),
    acquireTime: microTime,
    renewTime: microTime,
  }),
});

async function lease() {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${stage.home}/leases/model-gateway-controller`;
  return leaseSchema.parse(await stage.cluster.client.ask('GET', path)).spec;
}

const allSynced = (count: number) =>
  eventually(
    `${count} nodes are synced`,
    async () => {
      const path = `/apis/modelgateway.dev/v1alpha1/namespaces/${stage.home}/upstreamnodes`;
      const { items } = (await stage.cluster.client.ask('GET', path)) as {
        items: { status?: { syncedWith?: unknown } }[];
      };
      return items.filter(({ status }) => status?.syncedWith !== undefined).length === count;
    },
    30_000,
  );

function leads(controller: number): boolean {
  const log = stage.controllers[controller]?.log() ?? [];
  return log.some(({ msg }) => msg === 'Started leading');
}

test('of two controllers one leads, and says so in the Lease and its metrics; both are ready', async () => {
  await allSynced(nodeCount);
  expect([leads(0), leads(1)]).toEqual([true, false]);
  expect(await lease()).toMatchObject({
    holderIdentity: expect.stringMatching(/^controller-0_[0-9a-f-]{36}$/),
    leaseDurationSeconds: 15,
    leaseTransitions: 0,
  });
  for (const [index, controller] of stage.controllers.entries()) {
    expect((await controller.probe('/readyz')).status).toBe(200);
    const { body } = await controller.probe('/metrics');
    expect(body).toContain(`leader_election_master_status{name="model-gateway-controller"} ${1 - index}`);
  }
  const counts = listings();
  expect(counts.size).toBe(nodeCount);
  expect([...counts.values()]).toEqual(Array.from({ length: nodeCount }, () => 1));
});

test('when the leader is killed the other takes over soon, and syncs only what is new', async () => {
  const [first] = stage.controllers;
  const began = performance.now();
  expect(await first?.stop('SIGKILL')).toBeNull();
  await addNode('orphan');
  await eventually('the other leads', () => leads(1), 30_000);
  await allSynced(nodeCount + 1);
  measured('leader killed → a new node synced by the other', performance.now() - began, takeoverLimitMs);
  expect(await lease()).toMatchObject({
    holderIdentity: expect.stringMatching(/^controller-1_/),
    leaseTransitions: 1,
  });
  // What the first one had synced must not be synced again: neither at the takeover nor a moment later.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const counts = listings();
  expect(counts.size).toBe(nodeCount + 1);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
});

test('a leader that is stopped hands over at once, ends with code 0 and leaves no work behind', async () => {
  const third = await stage.start('controller');
  await third.whenReady();
  const began = performance.now();
  expect(await stage.controllers[1]?.stop('SIGTERM')).toBe(0);
  console.log(`measured: SIGTERM → the leader has ended: ${Math.round(performance.now() - began)} ms`);
  await eventually('the third leads', () => leads(2), handoverLimitMs);
  measured('SIGTERM → the other leads', performance.now() - began, handoverLimitMs);
  await addNode('late');
  await allSynced(nodeCount + 2);
  expect([...listings().values()].filter((count) => count !== 1)).toEqual([]);
  expect(await lease()).toMatchObject({
    holderIdentity: expect.stringMatching(/^controller-2_/),
    leaseTransitions: 2,
  });
});

test('a leader whose Lease is taken from it ends at once', async () => {
  const third = stage.controllers[2];
  const path = `/apis/coordination.k8s.io/v1/namespaces/${stage.home}/leases/model-gateway-controller`;
  const renewTime = new Date().toISOString().replace('Z', '000Z');
  const body = { spec: { holderIdentity: 'somebody_else', leaseDurationSeconds: 15, renewTime } };
  const began = performance.now();
  await stage.cluster.client.ask('PATCH', path, { body });
  await eventually(
    'it noticed',
    () => third?.log().some(({ msg }) => msg === 'Lost the lease') ?? false,
    12_000,
  );
  measured('Lease taken → the leader stops', performance.now() - began, 10_000);
  expect(await third?.stop('SIGTERM')).toBe(1);
});
