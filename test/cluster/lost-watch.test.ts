import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { steadyLoad } from '../support/steady-load.ts';

// The watch starts again after 0.8 s and gets a 410; the new list begins 0.8 s later.
const relistLimitMs = 20_000;
let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  // Without the watch cache history is lost by etcd's compaction alone, as on a cluster with many changes.
  plane = await startControlPlane({ watchCache: false });
  stage = await startStage({ cluster: clusterAt(plane), namespaces: ['lost-watch'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
});

test('a watch whose place was compacted away lists anew; the old content serves meanwhile, and then what changed bites', async () => {
  const { resources, home } = stage;
  const [gateway] = stage.gateways;
  const [controller] = stage.controllers;
  await stage.addNode('stays', { upstream: { models: ['m'] } });
  await stage.addNode('goes', { upstream: { models: ['gone'] } });
  for (const name of ['stays', 'goes']) {
    await stage.until('ready', 'UpstreamNode', name, (node) => node.status?.phase === 'ready');
  }
  const caller = stage.caller(await resources.addKey(home, 'caller'));
  const revoked = stage.caller(await resources.addKey(home, 'revoked'));
  for (const each of [caller, revoked]) {
    await eventually('the key opens', async () => (await each.chat('m')).status === 200);
  }

  // Both processes are stopped, so that neither connects again before its resourceVersion has expired.
  for (const process of [gateway, controller]) process?.signal('SIGSTOP');
  await plane.stopApiServer();
  await plane.startApiServer();
  await resources.remove('APIKey', home, 'revoked');
  await resources.remove('UpstreamNode', home, 'goes');
  await stage.addNode('comes', { upstream: { models: ['new'] } });
  const newcomer = stage.caller(await resources.addKey(home, 'newcomer'));
  await plane.compactEtcd();
  const began = performance.now();
  for (const process of [gateway, controller]) process?.signal('SIGCONT');

  // Nothing is dropped before the new list is complete.
  expect((await revoked.chat('m')).status).toBe(200);
  const load = steadyLoad(caller, 'm', 20);
  await eventually(
    'the revoked key is refused',
    async () => (await revoked.chat('m')).status === 401,
    relistLimitMs,
  );
  measured('place lost → the deletion of a key is noticed', performance.now() - began, relistLimitMs);
  await eventually(
    'so is the deleted node',
    async () => (await caller.chat('gone')).status === 404,
    relistLimitMs,
  );
  await eventually('and the new key', async () => (await newcomer.chat('m')).status === 200, relistLimitMs);
  await stage.until(
    'the controller goes on too',
    'UpstreamNode',
    'comes',
    (node) => node.status?.phase === 'ready',
  );
  await eventually('the new node serves', async () => (await newcomer.chat('new')).status === 200);
  const { sent, failures } = await load.stop();
  console.log(`measured: ${sent} requests while the lists were read anew: ${failures.length} failed`);
  expect(failures).toEqual([]);

  const { body } = (await gateway?.probe('/metrics')) ?? { body: '' };
  for (const kind of ['UpstreamNode', 'APIKey']) {
    expect(body).toContain(`modelgateway_relists_total{kind="${kind}"} 1`);
    expect(body).toContain(`modelgateway_watch_restarts_total{kind="${kind}",reason="expired"} 1`);
  }
  expect(body).toContain('modelgateway_store_objects{kind="UpstreamNode"} 2');
  // The watch works again: a later change takes effect at once.
  await resources.patch('APIKey', home, 'newcomer', { spec: { enabled: false } });
  await eventually('401', async () => (await newcomer.chat('m')).status === 401);
});
