import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { productVersion } from '../../src/observe/version.ts';
import { runHere } from '../support/cli-here.ts';
import { eventually } from '../support/eventually.ts';
import { isolates } from '../support/kubelet/sandbox.ts';
import { measured, timeUntil } from '../support/measured.ts';
import { type ReleaseStage, startReleaseStage } from '../support/release.ts';
import { condition, resourcePathOf, type Stored } from '../support/resources.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// A release from its installation to its end, its pods running with the rights, probes and files that are rendered.
const home = 'models';
const team = 'team';
const foreign = 'foreign';
const values = {
  watch: { namespaces: [home, team] },
  apiKeys: [{ name: 'first', secretName: 'first-key' }],
  masterKeys: [{ name: 'admin', secretName: 'admin-key' }],
};
let stage: ReleaseStage;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  stage = await startReleaseStage();
  upstream = await startUpstream({ apiKey: 'sk-test', models: ['m'] });
  // The API server then refuses pods that are not "restricted".
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  for (const name of [home, team, foreign]) {
    await stage.cluster.client.ask('POST', '/api/v1/namespaces', { body: { metadata: { name, labels } } });
  }
});
afterAll(async () => {
  await upstream?.stop();
  await stage?.[Symbol.asyncDispose]();
});

const object = (path: string) => stage.cluster.client.ask('GET', path) as Promise<Stored>;
const deployment = (role: string) =>
  object(`/apis/apps/v1/namespaces/${home}/deployments/mg-model-gateway-${role}`);
const entries = async (name: string, namespace = home) =>
  (await stage.resources.secret(namespace, name))?.text ?? {};
const refused = (output: readonly string[]) => output.filter((line) => /forbidden/i.test(line));

test('helm install --wait ends when every pod is ready, and the first key is issued', async () => {
  const began = performance.now();
  const { code, stdout, stderr } = await stage.release('install', { values });
  expect(stderr).toBe('');
  expect(code, stage.said.join('\n')).toBe(0);
  console.log(`measured: helm install --wait: ${Math.round(performance.now() - began)} ms`);
  for (const role of ['gateway', 'controller'] as const) {
    expect((await deployment(role)).status).toMatchObject({ readyReplicas: 2, availableReplicas: 2 });
    expect(stage.pods(role)).toHaveLength(2);
    for (const pod of stage.pods(role)) {
      const answer = await fetch(`http://${pod.podIP}:9090/readyz`);
      expect(answer.status).toBe(200);
    }
  }
  // The command that the notes print for reading the first key.
  expect(stdout).toContain('kubectl get secret first-key -n models');
  await eventually('the first key is issued', async () => 'apiKey' in (await entries('first-key')));
  expect(await entries('first-key')).toMatchObject({
    OPENAI_BASE_URL: expect.stringMatching(/^http:\/\/mg-model-gateway\.models\.svc(:8080)?\/v1$/),
    OPENAI_API_KEY: expect.stringMatching(/^mgk_/),
  });
});

test('the loop: node, first answer from each pod, key of another namespace, /v1/keys, revocation', async () => {
  const { resources } = stage;
  await resources.addSecret(team, 'credential', { apiKey: 'sk-test' });
  const node = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name: 'node' },
    spec: { baseURL: upstream.url, apiKeySecretRef: { name: 'credential' } },
  };
  expect(await stage.cluster.apply(JSON.stringify(node), team)).toMatchObject({ applied: true });
  await eventually(
    'the node is synced and ready',
    async () => (await resources.get('UpstreamNode', team, 'node')).status?.phase === 'ready',
  );
  await resources.create('APIKey', team, 'app', { secretName: 'app-key' });
  await eventually('a key is issued', async () => 'apiKey' in (await entries('app-key', team)));
  const { apiKey = '' } = await entries('app-key', team);
  const pods = stage.pods('gateway');
  for (const pod of pods) {
    const caller = stage.caller(apiKey, pod);
    await eventually('the key opens', async () => (await caller.chat('m')).status === 200);
    expect((await caller.chat('m', { stream: true })).text).toMatch(/data: \[DONE\]\n\n$/);
  }
  expect(await stage.caller(apiKey).models()).toEqual(['m']);

  const { apiKey: masterKey = '' } = await entries('admin-key');
  const master = stage.caller(masterKey);
  const made = await master.send('POST', '/keys', { name: 'made' });
  expect(made.status, made.text).toBe(201);
  const { id, value } = JSON.parse(made.text) as { id: string; value: string };
  const [one, other] = pods;
  const isOpen = async (pod: typeof one, key: string) =>
    (await stage.caller(key, pod).send('GET', '/models')).status === 200;
  await eventually('it opens every gateway', async () => (await isOpen(one, value)) && isOpen(other, value));
  expect((await master.send('DELETE', `/keys/${id}`)).status).toBe(200);
  const declared = await master.send('DELETE', '/keys/first');
  expect([declared.status, JSON.parse(declared.text)]).toEqual([
    409,
    {
      error: expect.objectContaining({ message: expect.stringContaining('delete it where it was declared') }),
    },
  ]);

  const closed = async () => !(await isOpen(one, apiKey)) && !(await isOpen(other, apiKey));
  const ms = await timeUntil('401', () => resources.remove('APIKey', team, 'app'), closed);
  measured('key revoked → 401 of every gateway pod', ms, 1_000);
  for (const role of ['gateway', 'controller'] as const) {
    for (const pod of stage.pods(role)) expect(refused(pod.lines())).toEqual([]);
  }
});

test('pods see their volumes, cannot write to their file system, and run without root or capabilities', async () => {
  const [pod] = stage.pods('gateway');
  const [controller] = stage.pods('controller');
  expect(pod?.lines().join('\n')).not.toMatch(/EROFS|EACCES|ENOENT/);
  for (const each of [pod, controller]) {
    const { spec } = await object(`/api/v1/namespaces/${home}/pods/${each?.name}`);
    expect(spec).toMatchObject({
      securityContext: { runAsNonRoot: true },
      containers: [{ securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } } }],
    });
    if (!isolates) continue;
    const process = `/proc/${each?.process()?.pid}`;
    const status = await readFile(`${process}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\t([1-9]\d*)\t\1\t\1\t\1$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    // Not even root could, where the pod is.
    for (const folder of ['', 'app', 'tmp', 'etc', 'var/run/secrets/kubernetes.io/serviceaccount']) {
      await expect(writeFile(`${process}/root/${folder}/written`, ''), folder).rejects.toThrow('EROFS');
    }
  }
  // The lease names the pod, by the downward API.
  const lease = await object(
    `/apis/coordination.k8s.io/v1/namespaces/${home}/leases/model-gateway-controller`,
  );
  const holders = stage.pods('controller').map(({ name }) => name);
  expect(holders).toContain(String(lease.spec['holderIdentity']).split('_')[0]);
  expect(controller?.lines().join('\n')).not.toContain('sk-test');
});

test('a pod whose process dies is started again, and callers go to the other one meanwhile', async () => {
  const [pod] = stage.pods('gateway');
  const { OPENAI_API_KEY: key = '' } = await entries('first-key');
  const ready = async () =>
    ((await deployment('gateway')).status?.['readyReplicas'] as number | undefined) ?? 0;
  pod?.process()?.signal('SIGKILL');
  await eventually('it is not ready', async () => (await ready()) === 1);
  await eventually('the Service goes to the other one', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 5 }, () => stage.caller(key).send('GET', '/models')),
    );
    return answers.every((answer) => answer.status === 'fulfilled' && answer.value.status === 200);
  });
  await eventually('it is ready again', async () => (await ready()) === 2, 30_000);
  expect((await stage.caller(key, pod).send('GET', '/models')).status).toBe(200);
});

test('version tells what is installed', async () => {
  const { code, stdout, stderr } = await runHere([
    'version',
    '--kubeconfig',
    stage.plane.kubeconfig,
    '-n',
    home,
  ]);
  expect(code, stderr).toBe(0);
  for (const role of ['gateway', 'controller']) {
    const where = `Deployment ${home}/mg-model-gateway-${role}`;
    expect(stdout).toMatch(new RegExp(`^${role}: +${productVersion()} +${where}$`, 'm'));
  }
});

test('helm test passes', async () => {
  const { code, stderr } = await stage.helm.run(['test', 'mg', '--namespace', home, '--timeout', '60s']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
});

describe('nothing beyond its work is granted to a pod', () => {
  type Attempt = readonly [
    what: string,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ];
  const secrets = (namespace: string, name = '') =>
    `/api/v1/namespaces/${namespace}/secrets${name && `/${name}`}`;
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${home}/leases`;
  const node = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'UpstreamNode',
    metadata: { name: 'x' },
    spec: { baseURL: 'https://x.example/v1' },
  };
  const both: readonly Attempt[] = [
    ['reads Secrets of another namespace', 'GET', secrets(foreign)],
    ['reads Secrets of all namespaces', 'GET', '/api/v1/secrets'],
    ['reads nodes of another namespace', 'GET', resourcePathOf('UpstreamNode', foreign)],
    ['reads nodes of all namespaces', 'GET', '/apis/modelgateway.dev/v1alpha1/upstreamnodes'],
    ['creates a node', 'POST', resourcePathOf('UpstreamNode', team), node],
    ['changes a node', 'PATCH', resourcePathOf('UpstreamNode', team, 'node'), { spec: { enabled: false } }],
    ['deletes a node', 'DELETE', resourcePathOf('UpstreamNode', team, 'node')],
    ['changes a key', 'PATCH', resourcePathOf('APIKey', home, 'first'), { spec: { enabled: false } }],
    [
      'changes a master key',
      'PATCH',
      resourcePathOf('MasterKey', home, 'admin'),
      { spec: { enabled: false } },
    ],
    ['deletes a master key', 'DELETE', resourcePathOf('MasterKey', home, 'admin')],
    ['deletes a Secret', 'DELETE', secrets(team, 'credential')],
    ['makes tokens', 'POST', `/api/v1/namespaces/${home}/serviceaccounts/default/token`, {}],
    ['reads ConfigMaps', 'GET', `/api/v1/namespaces/${home}/configmaps`],
    ['reads its Role', 'GET', `/apis/rbac.authorization.k8s.io/v1/namespaces/${home}/roles`],
    ['changes CRDs', 'GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
  ];
  const gateway: readonly Attempt[] = [
    ['reads pods', 'GET', `/api/v1/namespaces/${home}/pods`],
    ['writes a Secret', 'POST', secrets(team), { metadata: { name: 'x' } }],
    ['changes a Secret', 'PATCH', secrets(team, 'credential'), { stringData: { apiKey: 'x' } }],
    [
      'changes the sealing Secret',
      'PATCH',
      secrets(home, 'model-gateway-sealing'),
      { stringData: { x: 'x' } },
    ],
    [
      'writes status of a node',
      'PATCH',
      `${resourcePathOf('UpstreamNode', team, 'node')}/status`,
      { status: {} },
    ],
    ['writes status of a key', 'PATCH', `${resourcePathOf('APIKey', home, 'first')}/status`, { status: {} }],
    ['writes Events', 'POST', `/apis/events.k8s.io/v1/namespaces/${team}/events`, {}],
    ['takes the lease', 'PATCH', `${lease}/model-gateway-controller`, {}],
    // By the admission policy: RBAC must let it create and delete keys for /v1/keys.
    ['deletes a key that was declared', 'DELETE', resourcePathOf('APIKey', home, 'first')],
    [
      'makes a key into a Secret',
      'POST',
      resourcePathOf('APIKey', home),
      { ...node, kind: 'APIKey', spec: { secretName: 'x' } },
    ],
  ];
  const controller: readonly Attempt[] = [
    [
      'creates a key',
      'POST',
      resourcePathOf('APIKey', team),
      { ...node, kind: 'APIKey', spec: { secretName: 'x' } },
    ],
    ['deletes a key', 'DELETE', resourcePathOf('APIKey', home, 'first')],
    ['takes another lease', 'PUT', `${lease}/x`, {}],
    ['reads pods of a team', 'GET', `/api/v1/namespaces/${team}/pods`],
    ['deletes a pod', 'DELETE', `/api/v1/namespaces/${home}/pods/x`],
    [
      'writes ConfigMaps of a team',
      'POST',
      `/api/v1/namespaces/${team}/configmaps`,
      { metadata: { name: 'x' } },
    ],
  ];

  test.each([
    ['gateway', [...both, ...gateway]],
    ['controller', [...both, ...controller]],
  ] as const)('of the %s', async (role, attempts) => {
    const asPod = await stage.asPod(stage.pods(role)[0]);
    // Not because the token is bad.
    expect((await asPod.send('GET', resourcePathOf('UpstreamNode', team, 'node'))).status).toBe(200);
    expect((await asPod.send('GET', secrets(team, 'credential'))).status).toBe(200);
    const answers = await Promise.all(
      attempts.map(async ([what, method, path, body]) => {
        const { status } = await asPod.send(method, path, { body });
        return `${what}: ${status}`;
      }),
    );
    expect(answers).toEqual(attempts.map(([what]) => `${what}: 403`));
  });
});

test('who may not read a Secret may not have it sent anywhere by a node', async () => {
  const { client } = stage.cluster;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${team}`;
  await client.ask('POST', `/api/v1/namespaces/${team}/serviceaccounts`, {
    body: { metadata: { name: 'dev' } },
  });
  const rules = [{ apiGroups: ['modelgateway.dev'], resources: ['upstreamnodes'], verbs: ['*'] }];
  await client.ask('POST', `${rbac}/roles`, { body: { metadata: { name: 'dev' }, rules } });
  await client.ask('POST', `${rbac}/rolebindings`, {
    body: {
      metadata: { name: 'dev' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'dev' },
      subjects: [{ kind: 'ServiceAccount', namespace: team, name: 'dev' }],
    },
  });
  const dev = await stage.cluster.as({ namespace: team, name: 'dev' });
  const stolen = await dev.client.send('POST', resourcePathOf('UpstreamNode', team), {
    body: {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata: { name: 'mine' },
      spec: { baseURL: 'https://mine.example/v1', apiKeySecretRef: { name: 'credential' } },
    },
  });
  expect(stolen.status).toBe(403);
  expect(JSON.stringify(stolen.body)).toContain('which system:serviceaccount:team:dev may not read');
});

test('Helm waits for a node until it is ready, and tells why one stalls', async () => {
  const [open, bare] = [
    await startUpstream({ models: ['n'] }),
    await startUpstream({ models: [], modelsStatus: 404 }),
  ];
  const good = { name: 'good', spec: { baseURL: open.url } };
  const done = await stage.release('upgrade', { values: { ...values, nodes: [good] } });
  expect(done.code, done.stderr).toBe(0);
  const node = await stage.resources.get('UpstreamNode', home, 'good');
  expect(condition(node, 'Ready')).toBe('True Configured');

  const began = performance.now();
  const stalled = { name: 'bare', spec: { baseURL: bare.url } };
  const failed = await stage.release('upgrade', { values: { ...values, nodes: [good, stalled] } });
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(
    /UpstreamNode\/models\/bare not ready\. status: Failed, message: .*spec\.manualModels/,
  );
  measured('helm upgrade with a node that stalls → failed', performance.now() - began, 40_000);
  // The remedy that the message names. A node with a list is first contacted when its check is due.
  const mended = {
    name: 'bare',
    spec: { baseURL: bare.url, manualModels: ['b'], healthCheck: { intervalSeconds: 10 } },
  };
  const again = await stage.release('upgrade', { values: { ...values, nodes: [good, mended] } });
  await Promise.all([open, bare].map((each) => each.stop()));
  expect(again.code, again.stderr).toBe(0);
});

test('helm uninstall leaves definitions, nodes and keys', async () => {
  const { code, stderr } = await stage.helm.run([
    'uninstall',
    'mg',
    '--namespace',
    home,
    '--wait',
    '--timeout',
    '60s',
  ]);
  expect(code, stderr).toBe(0);
  expect((await stage.resources.get('UpstreamNode', team, 'node')).spec['baseURL']).toBe(upstream.url);
  const { stdout } = await stage.cluster.kubectl(['get', 'crds', '-o', 'name']);
  expect(stdout.trim().split('\n')).toHaveLength(4);
  const left = await stage.cluster.kubectl([
    ...['get', 'deployments,services,roles,rolebindings,pdb,validatingadmissionpolicies,clusterroles', '-A'],
    ...['-l', 'app.kubernetes.io/part-of=model-gateway', '-o', 'name'],
  ]);
  expect(left.stdout).toBe('');
});
