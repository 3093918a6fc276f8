import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { condition, type ResourceKind, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  plane = await startControlPlane();
  stage = await startStage({ cluster: clusterAt(plane), namespaces: ['invalid-spec'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
});

type Crd = { spec: { versions: Record<string, unknown>[] } };
const crdPath = (plural: string) =>
  `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.modelgateway.dev`;

/** Stores values that the schema refuses, as an older version of the CRD may have taken them. */
async function breakSpec(
  kind: ResourceKind,
  plural: string,
  name: string,
  spec: Record<string, unknown>,
): Promise<void> {
  const { client } = stage.cluster;
  const { versions } = ((await client.ask('GET', crdPath(plural))) as Crd).spec;
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const loose = versions.map((version) => ({
    ...version,
    selectableFields: undefined,
    schema: { openAPIV3Schema },
  }));
  await client.ask('PATCH', crdPath(plural), { body: { spec: { versions: loose } } });
  const [field = ''] = Object.keys(spec);
  await eventually('the API server takes it', async () => {
    const stored = await stage.resources.patch(kind, stage.home, name, { spec }).catch(() => undefined);
    return stored?.spec[field] === spec[field];
  });
  await client.ask('PATCH', crdPath(plural), { body: { spec: { versions } } });
}

const isInvalid = (object: Stored): boolean =>
  condition(object, 'Ready') === 'False InvalidSpec' && condition(object, 'Stalled') === 'True InvalidSpec';
const messageOf = (object: Stored): string | undefined =>
  object.status?.conditions?.find(({ type }) => type === 'Ready')?.message;

test('an object that does not parse says which field is wrong, once, and keeps the rest of its status', async () => {
  const { resources, home } = stage;
  await stage.addNode('node', { upstream: { models: ['m'] } });
  await stage.until('ready', 'UpstreamNode', 'node', (each) => each.status?.phase === 'ready');
  // The schema is strict again when the controller writes, so that server-side apply would be refused.
  const [controller] = stage.controllers;
  controller?.signal('SIGSTOP');
  await breakSpec('UpstreamNode', 'upstreamnodes', 'node', { priority: 'high' });
  controller?.signal('SIGCONT');
  const broken = await stage.until('InvalidSpec', 'UpstreamNode', 'node', isInvalid);
  expect(messageOf(broken)).toBe('spec.priority: must be a number, not a string; correct it.');
  expect(broken.status).toMatchObject({
    observedGeneration: broken.metadata.generation,
    models: [{ name: 'm' }],
    phase: 'ready',
  });
  expect(condition(broken, 'ModelsSynced')).toBe('True ModelsSynced');

  // Longer than the first retries of anything that went on with it.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect((await resources.get('UpstreamNode', home, 'node')).metadata.resourceVersion).toBe(
    broken.metadata.resourceVersion,
  );

  await resources.patch('UpstreamNode', home, 'node', { spec: { priority: 5 } });
  const corrected = await stage.until(
    'ready again',
    'UpstreamNode',
    'node',
    (each) =>
      condition(each, 'Ready') === 'True Configured' && !condition(each, 'Stalled')?.startsWith('True'),
  );
  expect(corrected.status?.models).toEqual([{ name: 'm', enabled: true, source: 'Discovered' }]);
});

test('a key that does not parse opens as before, until it is disabled, and again once it is enabled', async () => {
  const { resources, home } = stage;
  await resources.create('APIKey', home, 'key', { secretName: 'key-text' });
  await stage.until('issued', 'APIKey', 'key', (each) => condition(each, 'Ready') === 'True KeyIssued');
  const secret = await resources.secret(home, 'key-text');
  const caller = stage.caller(secret?.text['apiKey'] ?? '');
  await eventually('the key opens', async () => (await caller.chat('none')).status === 404);
  await breakSpec('APIKey', 'apikeys', 'key', { models: 'everything' });
  const broken = await stage.until('InvalidSpec', 'APIKey', 'key', isInvalid);
  expect(messageOf(broken)).toContain('spec.models');
  expect(broken.status?.hashes).toHaveLength(1);
  expect((await caller.chat('none')).status).toBe(404);
  await breakSpec('APIKey', 'apikeys', 'key', { enabled: false });
  await eventually('revoked', async () => (await caller.chat('none')).status === 401);
  await breakSpec('APIKey', 'apikeys', 'key', { enabled: true });
  await eventually('in force again', async () => (await caller.chat('none')).status === 404);
});
