import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Crd, crds } from '../../src/resources/crd.ts';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { waitUntilServed } from '../support/crd-served.ts';
import { condition, type ResourceKind, resourcePathOf, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

// As docs/versions.md says, today's objects survive the step to v1beta1 while today's gateway and controller run. The test has
// its own control plane, because CRDs belong to the whole cluster.
let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  plane = await startControlPlane();
  stage = await startStage({ cluster: clusterAt(plane), namespaces: ['versions'] });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
});

type Version = { name: string; served: boolean; storage: boolean };

async function serve(versions: readonly Version[]): Promise<void> {
  for (const crd of crds()) {
    const [today] = crd.spec.versions;
    const spec = { ...crd.spec, versions: versions.map((version) => ({ ...today, ...version })) };
    const next = { ...crd, spec } as Crd;
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`;
    const { resourceVersion } = ((await stage.cluster.client.ask('GET', path)) as Stored).metadata;
    const body = { ...next, metadata: { name: crd.metadata.name, resourceVersion } };
    await stage.cluster.client.ask('PUT', path, { body });
    await waitUntilServed(stage.cluster.client, [stringify(next)]);
  }
}

const beta = (path: string): string => path.replace('/v1alpha1/', '/v1beta1/');
const read = async (path: string): Promise<Stored> => (await stage.cluster.client.ask('GET', path)) as Stored;
/** The fields that must not change: all except the version and those that every write changes. */
const kept = ({ metadata: { name, uid, generation }, spec, status }: Stored): object => ({
  ...{ name, uid, generation, spec },
  ...{ hashes: status?.hashes, models: status?.models, ready: condition({ status } as Stored, 'Ready') },
});

test('objects of today survive the step to v1beta1, and callers do not notice it', async () => {
  const { resources, home } = stage;
  const upstream = await stage.addNode('node', { upstream: { models: ['m'] } });
  const caller = stage.caller(await resources.addKey(home, 'by-hash'));
  const text = await readFile(new URL('../crds/good/key-everything.yaml', import.meta.url), 'utf8');
  const everything = parse(text) as { spec: Record<string, unknown> };
  await resources.create('APIKey', home, 'everything', everything.spec);
  await resources.create('MasterKey', home, 'master', { secretName: 'master' });
  const names: readonly [ResourceKind, string][] = [
    ['UpstreamNode', 'node'],
    ['APIKey', 'by-hash'],
    ['APIKey', 'everything'],
    ['MasterKey', 'master'],
  ];
  for (const [kind, name] of names) {
    const isReady = (object: Stored) => condition(object, 'Ready')?.startsWith('True') ?? false;
    await stage.until('ready', kind, name, isReady);
  }
  const paths = names.map(([kind, name]) => resourcePathOf(kind, home, name));
  const before = await Promise.all(paths.map(async (path) => kept(await read(path))));
  let isOver = false;
  const answers: number[] = [];
  const calling = (async () => {
    while (!isOver) answers.push((await caller.chat('m')).status);
  })();

  await serve([
    { name: 'v1alpha1', served: true, storage: true },
    { name: 'v1beta1', served: true, storage: false },
  ]);
  expect(await Promise.all(paths.map(async (path) => kept(await read(beta(path)))))).toEqual(before);
  await serve([
    { name: 'v1alpha1', served: true, storage: false },
    { name: 'v1beta1', served: true, storage: true },
  ]);
  for (const path of paths) {
    const body = await read(beta(path));
    await stage.cluster.client.ask('PUT', beta(path), { body });
  }
  for (const version of [(path: string) => path, beta]) {
    expect(await Promise.all(paths.map(async (path) => kept(await read(version(path)))))).toEqual(before);
  }
  // A manifest of today still applies, and takes effect.
  await resources.patch('APIKey', home, 'by-hash', { spec: { displayName: 'Still v1alpha1' } });
  expect(await read(beta(resourcePathOf('APIKey', home, 'by-hash')))).toMatchObject({
    spec: { displayName: 'Still v1alpha1' },
  });
  isOver = true;
  await calling;
  expect(new Set(answers)).toEqual(new Set([200]));
  await upstream.stop();
});
