import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import type { RoleProcess } from '../support/processes.ts';
import { condition } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  plane = await startControlPlane({ watchCache: false });
  stage = await startStage({ cluster: clusterAt(plane), namespaces: ['bad-objects'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
});

const kinds = ['upstreamnodes', 'apikeys', 'masterkeys'];

/** Makes the API server accept every value, as an older or newer version of the CRDs may. */
async function loosenSchemas(): Promise<void> {
  for (const kind of kinds) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kind}.modelgateway.dev`;
    const crd = (await stage.cluster.client.ask('GET', path)) as {
      spec: { versions: Record<string, unknown>[] };
    };
    const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const versions = crd.spec.versions.map((version) => ({
      ...version,
      selectableFields: undefined,
      schema: { openAPIV3Schema },
    }));
    await stage.cluster.client.ask('PATCH', path, { body: { spec: { versions } } });
  }
}

async function rejected(process: RoleProcess | undefined, kind: string): Promise<number> {
  const { body } = (await process?.probe('/metrics')) ?? { body: '' };
  const found = new RegExp(
    `^modelgateway_store_rejected_objects_total\\{kind="${kind}"\\} (\\d+)$`,
    'm',
  ).exec(body);
  return Number(found?.[1] ?? 0);
}

test('an object that does not parse keeps its last good version, and does not stop the process', async () => {
  const { resources, home } = stage;
  const [gateway] = stage.gateways;
  await stage.addNode('node', { upstream: { models: ['m'] } });
  await stage.until('ready', 'UpstreamNode', 'node', (each) => each.status?.phase === 'ready');
  const caller = stage.caller(await resources.addKey(home, 'caller'));
  const held = stage.caller(await resources.addKey(home, 'held'));
  await resources.patch('APIKey', home, 'held', { metadata: { finalizers: ['example.com/hold'] } });
  await eventually('the keys open', async () => (await held.chat('m')).status === 200);
  await eventually('the keys open', async () => (await caller.chat('m')).status === 200);
  await loosenSchemas();

  const breakIt = { spec: { priority: 'high', apiKeySecretRef: 'sk-pasted-in-the-wrong-place' } };
  await eventually('the API server takes it', async () => {
    const { spec } = await resources.patch('UpstreamNode', home, 'node', breakIt);
    return spec['priority'] === 'high';
  });
  await eventually('the gateway rejects it', async () => (await rejected(gateway, 'UpstreamNode')) > 0);
  expect((await caller.chat('m')).status).toBe(200);
  expect(await caller.models()).toEqual(['m']);
  for (const process of [...stage.gateways, ...stage.controllers]) {
    const line = process.log().find(({ msg }) => msg.startsWith('Rejected an object'));
    expect(line).toMatchObject({ level: 'error', kind: 'UpstreamNode', namespace: home, name: 'node' });
    expect(JSON.stringify(line)).toContain('spec.priority');
    expect(process.output()).not.toContain('sk-pasted-in-the-wrong-place');
  }

  // Other kinds, and other objects of this kind, still work.
  await stage.addNode('other', { upstream: { models: ['n'] } });
  await stage.until('ready', 'UpstreamNode', 'other', (each) => each.status?.phase === 'ready');
  await eventually('it serves', async () => (await caller.chat('n')).status === 200);

  // A key is accepted while its newest version is invalid, but not when it is being deleted.
  await resources.patch('APIKey', home, 'held', { spec: { models: 'everything' } });
  await eventually('the gateway rejects it', async () => (await rejected(gateway, 'APIKey')) > 0);
  expect((await held.chat('m')).status).toBe(200);
  await resources.remove('APIKey', home, 'held');
  await eventually('revoked', async () => (await held.chat('m')).status === 401);

  // A gateway that starts now has no good version of the object, and becomes ready without it.
  const late = await stage.start('gateway');
  await late.whenReady();
  const atLate = stage.caller(await resources.addKey(home, 'late'), 1);
  await eventually('other nodes serve', async () => (await atLate.chat('n')).status === 200);
  expect((await atLate.chat('m')).status).toBe(404);

  await resources.patch('UpstreamNode', home, 'node', {
    spec: { priority: 90, apiKeySecretRef: null, weight: 7, manualModels: ['by-hand'] },
  });
  for (const each of [caller, atLate]) {
    await eventually(
      'the mended version is in force',
      async () => (await each.chat('by-hand')).status === 200,
    );
  }
  const mended = await stage.until(
    'planned',
    'UpstreamNode',
    'node',
    (each) => each.status?.['modelCount'] === 2,
  );
  expect(condition(mended, 'Ready')).toBe('True Configured');
  await resources.remove('UpstreamNode', home, 'node');
  await eventually('gone', async () => (await caller.chat('m')).status === 404);
});

test('a broken object that took the name of a deleted one keeps nothing of it', async () => {
  const { resources, home } = stage;
  const [gateway] = stage.gateways;
  const caller = stage.caller(await resources.addKey(home, 'replaced'));
  await eventually('the key opens', async () => (await caller.chat('none')).status === 404);
  // The gateway is stopped until its resourceVersion has expired; otherwise its watch would report the deletion.
  gateway?.signal('SIGSTOP');
  await plane.stopApiServer();
  await plane.startApiServer();
  await resources.remove('APIKey', home, 'replaced');
  await resources.create('APIKey', home, 'replaced', { hash: 'nonsense' });
  await plane.compactEtcd();
  gateway?.signal('SIGCONT');
  await eventually('401', async () => (await caller.chat('none')).status === 401);
  const { body } = (await gateway?.probe('/metrics')) ?? { body: '' };
  expect(body).toContain('modelgateway_relists_total{kind="APIKey"} 1');
});
