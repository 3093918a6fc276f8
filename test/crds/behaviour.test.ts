import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { crds } from '../../src/resources/crd.ts';
import { parseResource, parseStored } from '../../src/resources/parse.ts';
import { sharedCluster } from '../support/cluster.ts';
import { kubernetesMinor } from '../support/control-plane/binaries.ts';
import { manifest } from './manifests.ts';

const cluster = sharedCluster();
const group = '/apis/modelgateway.dev/v1alpha1';
let namespace = '';
let nodes = '';

beforeAll(async () => {
  await cluster.applyCrds();
  namespace = await cluster.newNamespace('behaviour');
  nodes = `${group}/namespaces/${namespace}/upstreamnodes`;
});

const objectSchema = z.looseObject({
  metadata: z.looseObject({ generation: z.number(), resourceVersion: z.string().optional() }),
  spec: z.record(z.string(), z.unknown()),
  status: z.record(z.string(), z.unknown()).optional(),
});

function node(name: string, spec: object): object {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name },
    spec: { baseURL: 'https://api.example.com/v1', ...spec },
  };
}

async function ask(method: 'POST' | 'GET', path: string, body?: unknown) {
  return objectSchema.parse(await cluster.client.ask(method, path, body === undefined ? {} : { body }));
}

/** Server-side apply; answers the HTTP status and the object or the server's message. */
async function apply(manager: string, name: string, fields: object, subresource = '') {
  const path = `${nodes}/${name}${subresource}?fieldManager=${manager}`;
  const identity = { apiVersion: 'modelgateway.dev/v1alpha1', kind: 'UpstreamNode', metadata: { name } };
  return cluster.client.send('PATCH', path, {
    contentType: 'application/apply-patch+yaml',
    body: { ...identity, ...fields },
  });
}

test('the CRDs install as kubectl apply -f crds says, and stay as they are', async () => {
  const files = new URL('../../crds', import.meta.url).pathname;
  const applied = await cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', files]);
  expect(applied.stderr).not.toMatch(/[Ww]arning: unrecognized|rror/);
  expect(applied.code).toBe(0);
  expect(applied.stdout.trim().split('\n')).toHaveLength(4);
  for (const { metadata } of crds()) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`;
    const found = z
      .object({
        status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
      })
      .parse(await cluster.client.ask('GET', path));
    // NonStructuralSchema and its kind would be listed here.
    expect(found.status.conditions.map(({ type, status }) => `${type}=${status}`).toSorted()).toEqual([
      'Established=True',
      'NamesAccepted=True',
    ]);
  }
});

test.each([
  'node-minimal',
  'node-everything',
  'key-generated',
  'key-hash',
  'key-everything',
  'master-generated',
])('the server fills in the defaults that our parsing fills in: %s', async (file) => {
  const document = manifest('good', file);
  const path = `${group}/namespaces/${namespace}/${document.kind.toLowerCase()}s?dryRun=All`;
  const stored = await ask('POST', path, document);
  const ours = parseResource(document);
  if ('problems' in ours || ours.resource.kind === 'Secret') throw new Error('not taken');
  expect(stored.spec).toEqual(ours.resource.spec);
});

test('a new object does not look finished', async () => {
  const { status } = await ask('POST', `${nodes}?dryRun=All`, node('fresh', {}));
  expect(status).toEqual({ observedGeneration: -1 });
});

test('two field managers each own one entry of spec.models', async () => {
  await ask('POST', nodes, node('shared', {}));
  const entry = (name: string, enabled: boolean) => ({ spec: { models: [{ name, enabled }] } });
  expect((await apply('team-a', 'shared', entry('a', true))).status).toBe(200);
  expect((await apply('team-b', 'shared', entry('b', false))).status).toBe(200);
  // Each changes its own, and neither meets a conflict.
  expect((await apply('team-a', 'shared', entry('a', false))).status).toBe(200);
  const both = await ask('GET', `${nodes}/shared`);
  expect(both.spec['models']).toEqual([
    { name: 'a', enabled: false },
    { name: 'b', enabled: false },
  ]);
  const stolen = await apply('team-a', 'shared', {
    spec: {
      models: [
        { name: 'a', enabled: false },
        { name: 'b', enabled: true },
      ],
    },
  });
  expect(stolen.status).toBe(409);
  expect(JSON.stringify(stolen.body)).toContain('.spec.models[name=\\"b\\"].enabled');
  // What a manager leaves out, it gives up.
  expect((await apply('team-a', 'shared', { spec: { models: [] } })).status).toBe(200);
  expect((await ask('GET', `${nodes}/shared`)).spec['models']).toEqual([{ name: 'b', enabled: false }]);
});

test('two field managers each own some of a set', async () => {
  await ask('POST', nodes, node('set', {}));
  expect((await apply('team-a', 'set', { spec: { manualModels: ['a'] } })).status).toBe(200);
  expect((await apply('team-b', 'set', { spec: { manualModels: ['b'] } })).status).toBe(200);
  expect((await ask('GET', `${nodes}/set`)).spec['manualModels']).toEqual(['a', 'b']);
});

test('a status write does not move generation, a spec write does, and neither reaches the other part', async () => {
  const made = await ask('POST', nodes, node('generations', { priority: 1 }));
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Healthy',
    message: 'Checked.',
    lastTransitionTime: '2027-01-31T00:00:00.000Z',
    observedGeneration: 1,
  };
  const status = {
    observedGeneration: 1,
    phase: 'ready',
    models: [{ name: 'a', enabled: true, source: 'Discovered' }],
    modelCount: 1,
    conditions: [condition],
  };
  const written = await apply('controller', 'generations', { status }, '/status');
  expect(written.status).toBe(200);
  const after = objectSchema.parse(written.body);
  expect(after.metadata.generation).toBe(made.metadata.generation);
  expect(after.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
  expect(after.status).toEqual(status);
  expect(parseStored(written.body)).toMatchObject({ resource: { kind: 'UpstreamNode', status } });

  const changed = await apply('test', 'generations', { spec: { priority: 2 }, status: { phase: 'offline' } });
  expect(changed.status).toBe(409);
  const path = `${nodes}/generations`;
  const patched = await cluster.client.ask('PATCH', path, {
    body: { spec: { priority: 2 }, status: { phase: 'error' } },
  });
  const second = objectSchema.parse(patched);
  expect(second.metadata.generation).toBe(made.metadata.generation + 1);
  expect(second.status).toMatchObject({ phase: 'ready', observedGeneration: 1 });
});

test('a status of the largest size that the design names is taken', async () => {
  await ask('POST', nodes, node('large', {}));
  const models = Array.from({ length: 5_000 }, (_, index) => ({
    name: `model-${index}-`.padEnd(80, 'x'),
    enabled: true,
    source: 'Discovered',
  }));
  expect(JSON.stringify(models).length).toBeGreaterThan(620 * 1024);
  const written = await apply(
    'controller',
    'large',
    { status: { models, modelsTruncated: true } },
    '/status',
  );
  expect(written.status).toBe(200);
});

test('kubectl get shows the columns of the design', async () => {
  await ask('POST', `${group}/namespaces/${namespace}/apikeys`, manifest('good', 'key-everything'));
  await ask('POST', nodes, node('columns', { displayName: 'Columns', priority: 7 }));
  const get = async (...what: string[]) => {
    const { stdout, stderr } = await cluster.kubectl(['get', ...what, '--namespace', namespace]);
    expect(stderr).toBe('');
    return stdout.split('\n').map((line) => line.split(/ {3,}/));
  };
  const failed = { lastSyncTime: '2027-01-31T00:00:00Z', lastSyncError: 'It answered 500.' };
  const status = { phase: 'error', modelCount: 3, enabledModelCount: 2, enabledModels: '2/3', ...failed };
  expect((await apply('controller', 'columns', { status }, '/status')).status).toBe(200);
  const [head, row] = await get('upnode', 'columns', '-o', 'wide');
  expect(head?.join(',').trim()).toBe(
    'NAME,URL,STATUS,MODELS,LAST SYNC,ENABLED,PRIORITY,WEIGHT,AGE,LAST TRY,DISPLAY NAME,LAST CHECK,MESSAGE',
  );
  // No sync has succeeded, so none is told as the last one.
  expect(row?.slice(0, 5)).toEqual(['columns', 'https://api.example.com/v1', 'error', '2/3', 'true']);
  expect((await get('upnode', 'columns'))[0]?.join(',').trim()).toBe(
    'NAME,URL,STATUS,MODELS,LAST SYNC,ENABLED,PRIORITY,WEIGHT,AGE',
  );
  expect((await get('apik'))[0]?.join(',').trim()).toBe('NAME,READY,ENABLED,HINT,MODELS,EXPIRES,AGE');
  const all = await cluster.kubectl(['get', 'modelgateway', '--namespace', namespace, '-o', 'name']);
  expect(all.stdout).toContain('upstreamnode.modelgateway.dev/columns');
  expect(all.stdout).toContain('apikey.modelgateway.dev/key');
  const selected = [
    'get',
    'apik',
    '-n',
    namespace,
    '--field-selector',
    'spec.secretName=app-key',
    '-o',
    'name',
  ];
  // Kubernetes 1.30 drops selectableFields from a definition.
  if (kubernetesMinor() > 30) {
    expect((await cluster.kubectl(selected)).stdout.trim()).toBe('apikey.modelgateway.dev/key');
  }
});

test('kubectl explain has a text for every field', async () => {
  const { stdout } = await cluster.kubectl(['explain', 'upstreamnode', '--recursive']);
  expect(stdout).toContain('manualModels\t<[]string>');
  const field = await cluster.kubectl(['explain', 'upstreamnode.spec.sync.newModels']);
  expect(field.stdout).toContain('What a newly discovered model starts as.');
  expect(field.stdout).toContain('ENUM:');
});
