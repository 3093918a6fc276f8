import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { objectsIn, type Rendered, type RenderOptions, render, renderText } from '../support/chart.ts';
import { type Cluster, clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { waitUntilServed } from '../support/crd-served.ts';
import { everythingOn } from '../support/everything-on.ts';
import { type Helm, startHelm } from '../support/helm.ts';
import { standInCrds } from '../support/stand-in-crds.ts';

// What the chart renders is what the API server takes: every object strictly, and every pod by Pod Security "restricted".
// A control plane of its own, because the definitions of other products are installed that others need not see.
let plane: ControlPlane;
let cluster: Cluster;
let helm: Helm;
const namespace = 'models';
const ourKinds = ['UpstreamNode', 'APIKey', 'MasterKey'].map((kind) => `modelgateway.dev/v1alpha1/${kind}`);
const sets: readonly [what: string, options: RenderOptions][] = [
  ['default values', {}],
  ['everything on', { values: everythingOn, apiVersions: ourKinds }],
  [
    'all namespaces, Secrets of some',
    { values: { watch: { allNamespaces: true, secretNamespaces: ['team-a', 'team-b'] } } },
  ],
  [
    'namespaces by label',
    { values: { watch: { namespaces: ['models', 'team-a'], namespaceSelector: 'a=b' } } },
  ],
  ['all namespaces and all Secrets', { values: { watch: { allNamespaces: true, secretNamespaces: ['*'] } } }],
  [
    'TLS from a Secret',
    { values: { tls: { secretName: 'cert' }, ingress: { enabled: true }, networkPolicy: { enabled: true } } },
  ],
];

/** Of `kubectl apply`: the server judges, refuses what it does not know, and keeps nothing. */
const strictly = [
  '--server-side',
  '--force-conflicts',
  '--dry-run=server',
  '--validate=strict',
  '-o',
  'name',
];

beforeAll(async () => {
  [plane, helm] = await Promise.all([startControlPlane(), startHelm()]);
  cluster = clusterAt(plane);
  await cluster.applyCrds();
  // Pods that name one are refused without it.
  const runtimeClass = { metadata: { name: 'gvisor' }, handler: 'runsc' };
  await cluster.client.ask('POST', '/apis/node.k8s.io/v1/runtimeclasses', { body: runtimeClass });
  for (const name of [namespace, 'team-a', 'team-b']) {
    // As an admin would who wants no other pods there.
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.client.ask('POST', '/api/v1/namespaces', { body: { metadata: { name, labels } } });
  }
  const text = standInCrds();
  expect(await cluster.apply(text)).toMatchObject({ applied: true });
  await waitUntilServed(cluster.client, text.split('---\n'));
});
afterAll(async () => {
  await helm?.[Symbol.asyncDispose]();
  await plane?.stop();
});

describe.each(sets)('%s', (_, options) => {
  let text: string;
  let objects: Rendered[];
  beforeAll(async () => {
    ({ text } = await renderText(helm, { ...options, namespace }));
    objects = objectsIn(text);
  });

  test('every object is taken, strictly', async () => {
    expect(objects.length).toBeGreaterThan(10);
    const { code, stdout, stderr } = await cluster.kubectl(['apply', ...strictly, '-f', '-'], text);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(objects.length);
  });

  test('every pod passes Pod Security "restricted"', async () => {
    const pods = objects.flatMap(podsOf);
    expect(pods.length).toBeGreaterThanOrEqual(3);
    // The names of accounts are looked up when a pod is created, and a dry run has made none.
    for (const pod of pods) {
      const body = { ...pod, spec: { ...pod.spec, serviceAccountName: 'default' } };
      const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All&fieldValidation=Strict`;
      const { status, body: answer } = await cluster.client.send('POST', path, { body });
      expect([status, (answer as { message?: string }).message]).toEqual([201, undefined]);
    }
  });
});

test('install.yaml and a kustomization of it are taken, strictly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-gateway-kustomize-'));
  try {
    const script = fileURLToPath(new URL('../../scripts/install-yaml.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [script, '--out', folder], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    const example = await readFile(
      new URL('../../examples/gitops/kustomize/kustomization.yaml', import.meta.url),
      'utf8',
    );
    // The release's own file in place of the one at its address.
    await writeFile(
      join(folder, 'kustomization.yaml'),
      example.replace(/https:\S+\/install\.yaml/, 'install.yaml'),
    );
    const built = await cluster.kubectl(['kustomize', folder]);
    expect(built.stderr).toBe('');
    expect(built.stdout).toMatch(/replicas: 3/);
    await cluster.client.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'model-gateway' } } });
    const plain = await readFile(join(folder, 'install.yaml'), 'utf8');
    for (const text of [plain, built.stdout]) {
      expect(text).not.toMatch(/managed-by|helm\.sh/);
      const applied = await cluster.kubectl(['apply', ...strictly, '-f', '-'], text);
      expect(applied).toMatchObject({ code: 0, stderr: '' });
      expect(applied.stdout.trim().split('\n').length).toBeGreaterThan(20);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('the namespace refuses a pod that is not restricted', async () => {
  const [deployment] = (
    await render(helm, { values: { gateway: { securityContext: { runAsUser: 0 } } }, namespace })
  ).filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-gateway'));
  const [pod] = deployment === undefined ? [] : podsOf(deployment);
  const body = { ...pod, spec: { ...pod?.spec, serviceAccountName: 'default' } };
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  const { status, body: answer } = await cluster.client.send('POST', path, { body });
  expect(status).toBe(403);
  expect((answer as { message: string }).message).toContain('violates PodSecurity "restricted');
});

interface Pod {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: object;
  readonly spec: object;
}

/** The pods that come of an object: a Deployment's, or the one that it is. */
function podsOf({ kind, metadata, spec }: Rendered): Pod[] {
  const made = (of: object, podSpec: object): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...of, name: `${metadata.name}-0`, namespace },
    spec: podSpec,
  });
  if (kind === 'Pod') return [made({}, spec as object)];
  if (kind !== 'Deployment') return [];
  const { template } = spec as { template: { metadata: object; spec: object } };
  return [made(template.metadata, template.spec)];
}
