import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterAt, sharedCluster } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { waitUntilServed } from '../support/crd-served.ts';
import { eventually } from '../support/eventually.ts';

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.test.modelgateway.dev}
spec:
  group: test.modelgateway.dev
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                size: {type: integer, maximum: 3}
`;
const gadget = (size: number) => `
apiVersion: test.modelgateway.dev/v1
kind: Gadget
metadata: {name: sample}
spec: {size: ${size}}
`;

describe('the shared control plane', () => {
  const cluster = sharedCluster();

  test('answers kubectl', async () => {
    const { code, stdout } = await cluster.kubectl(['version', '-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).serverVersion).toMatchObject({
      gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
    });
  });

  test('installs a CRD and refuses what its schema forbids, with the server message', async () => {
    const namespace = await cluster.newNamespace('gadgets');
    expect(await cluster.apply(gadgets)).toMatchObject({ applied: true });
    await waitUntilServed(cluster.client, [gadgets]);
    expect(await cluster.apply(gadget(2), namespace)).toMatchObject({ applied: true });
    const refused = await cluster.apply(gadget(9), namespace);
    expect(refused.applied).toBe(false);
    expect(refused.message).toContain(
      'spec.size: Invalid value: 9: spec.size in body should be less than or equal to 3',
    );
  });

  test('serves the CRDs of the product as soon as they are applied, also when files apply them at once', async () => {
    await Promise.all([cluster.applyCrds(), sharedCluster().applyCrds()]);
    // Other files of this run have objects of theirs here.
    const { code, stderr } = await cluster.kubectl([
      'get',
      'upstreamnodes,apikeys,masterkeys',
      '-n',
      'default',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'No resources found in default namespace.\n' });
  });

  test('mints tokens, and RBAC denies what no role grants', async () => {
    const namespace = await cluster.newNamespace('tokens');
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await cluster.client.ask('POST', path, { body: { metadata: { name: 'reader' } } });
    const asReader = await cluster.as({ namespace, name: 'reader' });
    const denied = await asReader.kubectl(['get', 'secrets']);
    expect(denied.stderr).toContain(
      `"system:serviceaccount:${namespace}:reader" cannot list resource "secrets"`,
    );
    // A role of our own: the built-in ones (admin, edit, view) stay empty, since no controller aggregates them here.
    const create = (...rest: string[]) => cluster.kubectl(['-n', namespace, 'create', ...rest]);
    await create('role', 'reader', '--verb=list', '--resource=secrets');
    await create('rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:reader`);
    await eventually(
      'the role is granted',
      async () => (await asReader.kubectl(['get', 'secrets'])).code === 0,
    );
  });
});

describe('a control plane of its own', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane({ watchCache: false });
  });
  afterAll(() => plane?.stop());

  test('keeps its data and address while the API server is away', async () => {
    const cluster = clusterAt(plane);
    const namespace = await cluster.newNamespace('outage');
    await plane.stopApiServer();
    await expect(cluster.client.send('GET', '/readyz')).rejects.toThrow();
    await plane.startApiServer();
    expect(await cluster.client.send('GET', `/api/v1/namespaces/${namespace}`)).toMatchObject({
      status: 200,
    });
  });

  test('answers a watch from before a compaction with 410', async () => {
    const { client, newNamespace } = clusterAt(plane);
    const before = await client.ask('GET', '/api/v1/namespaces');
    const { resourceVersion } = (before as { metadata: { resourceVersion: string } }).metadata;
    for (const name of ['a', 'b', 'c']) await newNamespace(`compacted-${name}`);
    await plane.compactEtcd();
    const path = `/api/v1/namespaces?watch=true&timeoutSeconds=5&resourceVersion=${resourceVersion}`;
    const answer = await client.send('GET', path);
    expect(JSON.stringify(answer)).toContain('"code":410');
  });

  test('collects garbage and empties deleted namespaces once the controllers run', async (context) => {
    context.skip(!plane.hasControllerManager, 'these binaries hold no kube-controller-manager');
    await plane.startControllerManager();
    const { client, newNamespace } = clusterAt(plane);
    const namespace = await newNamespace('garbage');
    const maps = `/api/v1/namespaces/${namespace}/configmaps`;
    const owner = await client.ask('POST', maps, { body: { metadata: { name: 'owner' } } });
    const { uid } = (owner as { metadata: { uid: string } }).metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    await client.ask('POST', maps, { body: { metadata: { name: 'owned', ownerReferences } } });
    await client.ask('DELETE', `${maps}/owner`);
    await eventually(
      'the owned object is gone',
      async () => (await client.send('GET', `${maps}/owned`)).status === 404,
      30_000,
    );
    await client.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await eventually(
      'the namespace is gone',
      async () => (await client.send('GET', `/api/v1/namespaces/${namespace}`)).status === 404,
      30_000,
    );
  });

  test('shows no credential in any argument, and keeps its files to this user', async () => {
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain('PRIVATE KEY');
    for (const path of [plane.folder, plane.kubeconfig]) expect(statSync(path).mode & 0o077).toBe(0);
  });
});
