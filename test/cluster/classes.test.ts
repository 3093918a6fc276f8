import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { RoleProcess } from '../support/processes.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Two installations on the same namespace: one without a class, one of the class `canary`.
const label = 'modelgateway.dev/class';
const canary = { labels: { [label]: 'canary' } };
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['classes'], roles: ['controller', 'gateway'] });
  const home = await stage.cluster.newNamespace('classes-home');
  const more = { namespaces: stage.namespaces, homeNamespace: home, flags: ['--class', 'canary'] };
  const roles = await Promise.all([stage.start('controller', more), stage.start('gateway', more)]);
  await Promise.all(roles.map((role) => role.whenReady()));
});
afterAll(() => stage?.[Symbol.asyncDispose]());

const remarks = async (role: RoleProcess | undefined) =>
  (await fetch(`${role?.admin}/readyz?verbose`)).text();

test('an object is served by the installation of its class alone, and moves with its label', async () => {
  const { resources, home } = stage;
  expect(await remarks(stage.gateways[1])).toContain('no object has the class canary');
  expect(stage.controllers[1]?.output()).toContain('no object has the class canary');
  expect(await remarks(stage.gateways[0])).toBe('ok\n');

  const upstream = await stage.upstream({ models: ['m'] });
  const spec = { baseURL: upstream.url };
  await resources.create('UpstreamNode', home, 'stable', spec);
  await resources.create('UpstreamNode', home, 'canary', spec, canary);
  for (const name of ['stable', 'canary']) {
    await stage.until(`${name} is ready`, 'UpstreamNode', name, (node) => node.status?.phase === 'ready');
  }
  expect(await remarks(stage.gateways[1])).toBe('ok\n');
  const key = await resources.addKey(home, 'caller');
  const answers = async () =>
    Promise.all([0, 1].map(async (gateway) => (await stage.caller(key, gateway).chat('m')).status));
  await eventually('the first serves it', async () => (await answers()).join() === '200,401');
  expect((await stage.caller(key, 0).chat('m')).headers.get('x-model-gateway-node')).toBe(`${home}/stable`);
  await resources.patch('APIKey', home, 'caller', { metadata: canary });
  await eventually('the other serves it', async () => (await answers()).join() === '401,200');
  expect((await stage.caller(key, 1).chat('m')).headers.get('x-model-gateway-node')).toBe(`${home}/canary`);
});

test('a key that /v1/keys makes has the class of its gateway', async () => {
  const { resources, home } = stage;
  const master = await resources.addKey(home, 'master', {}, 'MasterKey');
  await resources.patch('MasterKey', home, 'master', { metadata: canary });
  const caller = stage.caller(master, 1);
  await eventually('it opens', async () => (await caller.send('GET', '/keys')).status === 200);
  const made = await caller.send('POST', '/keys', {});
  expect(made.status).toBe(201);
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  expect((await stage.caller(value, 1).chat('m')).status).toBe(200);
  expect((await resources.get('APIKey', home, id)).metadata.labels?.[label]).toBe('canary');
  expect((await stage.caller(value, 0).chat('m')).status).toBe(401);
});
