import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { condition, type ResourceKind, resourcePathOf, type Stored } from '../support/resources.ts';
import { runProduct } from '../support/run-product.ts';
import { type Stage, startStage } from '../support/stage.ts';

// Restores a backup of the resources and Secrets into an emptied cluster. No garbage collector runs here, so the test deletes
// the objects that it would delete.
let stage: Stage;
let credential: Awaited<ReturnType<Stage['upstream']>>;
beforeEach(async () => {
  stage = await startStage({ namespaces: ['restore'] });
  credential = await stage.upstream({ apiKey: 'sk-test', models: ['sealed-model'] });
});
afterEach(() => stage?.[Symbol.asyncDispose]());

const kinds: readonly ResourceKind[] = ['UpstreamNode', 'APIKey', 'MasterKey'];
const secretsPath = () => `/api/v1/namespaces/${stage.home}/secrets`;
const opens = async (text: string): Promise<boolean> =>
  (await stage.caller(text, stage.gateways.length - 1).chat('sealed-model')).status === 200;
const opensKeys = async (text: string): Promise<boolean> =>
  (await stage.caller(text, stage.gateways.length - 1).send('GET', '/keys')).status === 200;
const textIn = async (name: string): Promise<string> => {
  let text: string | undefined;
  await eventually(`${name} holds a key`, async () => {
    text = (await stage.resources.secret(stage.home, name))?.text['apiKey'];
    return text !== undefined;
  });
  return text ?? '';
};

/** A sealed node, a generated key of each kind, and a key of the keys API. */
async function populate(
  annotations: Record<string, string>,
): Promise<Record<'api' | 'master' | 'made', string>> {
  const { resources, home } = stage;
  const sealed = await runProduct(
    [
      ...['seal', '--kubeconfig', stage.cluster.address.kubeconfig, '--home-namespace', home],
      ...['--namespace', home, '--name', 'sealed', '--base-url', credential.url],
    ],
    'sk-test',
  );
  expect(sealed.code, sealed.stderr).toBe(0);
  const encryptedAPIKey = sealed.stdout.replace(/^encryptedAPIKey: \|\n/, '').replaceAll(/^ {2}/gm, '');
  await resources.create('UpstreamNode', home, 'sealed', { baseURL: credential.url, encryptedAPIKey });
  const rotation = { revision: 3 };
  await resources.create('APIKey', home, 'api', { secretName: 'api-key', rotation }, { annotations });
  await resources.create('MasterKey', home, 'master', { secretName: 'master-key' }, { annotations });
  const [api, master] = [await textIn('api-key'), await textIn('master-key')];
  await eventually('the master key opens', () => opensKeys(master));
  const made = await stage.caller(master).send('POST', '/keys', { name: 'made' });
  const { value } = JSON.parse(made.text) as { value: string };
  await eventually('all open', async () => (await opens(api)) && (await opens(value)), 20_000);
  return { api, master, made: value };
}

interface Backup {
  readonly secrets: readonly Stored[];
  readonly resources: readonly Stored[];
}

/** What Velero keeps of each object: no status and no uid, and owner references only if the tool keeps them. */
async function backUp(keepsOwners: boolean): Promise<Backup> {
  const read = async (path: string): Promise<Stored[]> => {
    const { items } = (await stage.cluster.client.ask('GET', path)) as { items: Stored[] };
    return items.map(({ metadata, status: _, ...object }) => {
      const { name, labels, annotations, ownerReferences } = metadata;
      const kept = { name, labels, annotations, ...(keepsOwners ? { ownerReferences } : {}) };
      return { ...object, metadata: kept } as Stored;
    });
  };
  const resources: Stored[] = [];
  for (const kind of kinds) {
    const items = await read(resourcePathOf(kind, stage.home));
    resources.push(...items.map((object) => ({ kind, ...object })));
  }
  return { secrets: await read(secretsPath()), resources };
}

/** Removes everything while no process of ours runs, as if the cluster were another one. */
async function empty(): Promise<void> {
  const processes = [...stage.controllers, ...stage.gateways];
  await Promise.all(processes.map((process) => process.stop('SIGKILL')));
  const { client } = stage.cluster;
  for (const kind of kinds) await client.ask('DELETE', resourcePathOf(kind, stage.home));
  await client.ask('DELETE', secretsPath());
  await client.ask('DELETE', `/api/v1/namespaces/${stage.home}/configmaps`);
  await client.ask('DELETE', `/apis/coordination.k8s.io/v1/namespaces/${stage.home}/leases`);
}

async function restore({ secrets, resources }: Backup): Promise<void> {
  const { client } = stage.cluster;
  for (const body of secrets) await client.ask('POST', secretsPath(), { body });
  for (const { kind, ...rest } of resources as readonly (Stored & { kind: ResourceKind })[]) {
    const body = { apiVersion: 'modelgateway.dev/v1alpha1', kind, ...rest };
    await client.ask('POST', resourcePathOf(kind, stage.home), { body });
  }
}

async function startAgain(): Promise<void> {
  const started = await Promise.all([stage.start('controller'), stage.start('gateway')]);
  await Promise.all(started.map((process) => process.whenReady()));
}

const adopt = { 'modelgateway.dev/adopt-secret': 'true' };

describe.each([
  ['without owner references, as Velero restores it', false],
  ['with the owner references of the lost cluster', true],
])('a backup %s', (_, keepsOwners) => {
  test('brings every key and every sealed credential back', async () => {
    const keys = await populate(adopt);
    const backup = await backUp(keepsOwners);
    await empty();
    await restore(backup);
    await startAgain();
    await eventually('the generated key opens', () => opens(keys.api), 20_000);
    await eventually('the key made by /v1/keys opens', () => opens(keys.made));
    await eventually('the master key opens', () => opensKeys(keys.master));
    expect(await textIn('api-key')).toBe(keys.api);
    expect(await textIn('master-key')).toBe(keys.master);
    const { metadata } = await stage.resources.get('APIKey', stage.home, 'api');
    expect((await stage.resources.secret(stage.home, 'api-key'))?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'APIKey', name: 'api', uid: metadata.uid, controller: true }),
    ]);
    await stage.until('ready', 'APIKey', 'api', (key) => condition(key, 'Ready') === 'True KeyIssued');
  });

  test('brings no generated key back where nobody asked for it', async () => {
    const keys = await populate({});
    const backup = await backUp(keepsOwners);
    await empty();
    await restore(backup);
    await startAgain();
    await eventually('the key made by /v1/keys opens', () => opens(keys.made), 20_000);
    const expected = keepsOwners ? 'Unknown Pending' : 'False SecretConflict';
    await stage.until('not taken up', 'APIKey', 'api', (key) => condition(key, 'Ready') === expected);
    expect(await opens(keys.api)).toBe(false);
    await stage.resources.patch('APIKey', stage.home, 'api', { metadata: { annotations: adopt } });
    await eventually('it opens once that was asked for', () => opens(keys.api));
  });
});

test('deleting a key and creating it again revokes its text', async () => {
  const { resources, home } = stage;
  const keys = await populate({});
  await resources.remove('APIKey', home, 'api');
  await resources.create('APIKey', home, 'api', { secretName: 'api-key' });
  await eventually('the text opens nothing', async () => !(await opens(keys.api)));
  // The garbage collector would delete it.
  await stage.cluster.client.ask('DELETE', `${secretsPath()}/api-key`);
  await eventually('another key is issued', async () => {
    const text = (await resources.secret(home, 'api-key'))?.text['apiKey'];
    return text !== undefined && text !== keys.api;
  });
  expect(await opens(keys.api)).toBe(false);
});

test.each([
  ['another object’s name', { 'modelgateway.dev/key': 'other' }, undefined],
  ['no key of ours', { 'modelgateway.dev/key': 'taken' }, 'not-a-key'],
])('a Secret with %s is never taken up', async (_, annotations, text) => {
  const { resources, home } = stage;
  await resources.create('APIKey', home, 'source', { secretName: 'source' });
  const apiKey = text ?? (await textIn('source'));
  const body = { metadata: { name: 'taken', annotations }, stringData: { apiKey } };
  await stage.cluster.client.ask('POST', secretsPath(), { body });
  await resources.create('APIKey', home, 'taken', { secretName: 'taken' }, { annotations: adopt });
  await stage.until(
    'conflict',
    'APIKey',
    'taken',
    (key) => condition(key, 'Ready') === 'False SecretConflict',
  );
  expect((await resources.secret(home, 'taken'))?.text).toEqual({ apiKey });
});

test('deleting the sealing Secret is no outage, and the leader puts it back', async () => {
  const keys = await populate({});
  const path = `${secretsPath()}/model-gateway-sealing`;
  const identities = async () =>
    (await stage.resources.secret(stage.home, 'model-gateway-sealing'))?.text['identities'];
  const before = await identities();
  let isOver = false;
  const served: boolean[] = [];
  const serving = (async () => {
    while (!isOver) served.push(await opens(keys.api));
  })();
  await stage.cluster.client.ask('DELETE', path);
  await eventually('it is there again', async () => (await identities()) !== undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  isOver = true;
  await serving;
  expect(await identities()).toBe(before);
  expect(served).not.toContain(false);
  const fresh = await stage.start('gateway');
  await fresh.whenReady();
  expect(await opens(keys.api)).toBe(true);
});
