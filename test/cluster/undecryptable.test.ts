import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterAt } from '../support/cluster.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { measured } from '../support/measured.ts';
import { type Stage, startStage } from '../support/stage.ts';

// The API server encrypts Secrets with one key, and then its configuration has another key, as after the loss of a KMS key. It
// then answers 500 to a GET of an older Secret. (An API server that starts in this state does not become ready.)
const readyLimitMs = 60_000;
/** The API server looks at its configuration once a minute. */
const reloadMs = 150_000;
let folder: string;
let plane: ControlPlane;
let stage: Stage;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-gateway-encryption-'));
  await encryptWith([]);
  plane = await startControlPlane({
    apiServerFlags: {
      'encryption-provider-config': config(),
      'encryption-provider-config-automatic-reload': 'true',
    },
  });
  stage = await startStage({
    cluster: clusterAt(plane),
    namespaces: ['crypt-home', 'crypt-team'],
    roles: [],
  });
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await plane?.stop();
  await rm(folder, { recursive: true, force: true });
});

const config = () => join(folder, 'encryption.yaml');

/** Writes the configuration: the first of the keys encrypts, and all of them decrypt. */
async function encryptWith(names: readonly string[]): Promise<void> {
  const keys = names.map((name) => ({ name, secret: randomBytes(32).toString('base64') }));
  const providers = [...(keys.length > 0 ? [{ aescbc: { keys } }] : []), { identity: {} }];
  const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration' };
  await writeFile(config(), JSON.stringify({ ...kind, resources: [{ resources: ['secrets'], providers }] }));
}

test('one undecryptable Secret does not keep new gateways and controllers from the others', async () => {
  const { resources, home, namespaces } = stage;
  const [, team = ''] = namespaces;
  const node = (name: string) => ({
    namespace: team,
    upstream: { apiKey: 'sk-good', models: [name] },
    spec: { apiKeySecretRef: { name } },
  });
  await resources.addSecret(team, 'good', { apiKey: 'sk-good' });
  await stage.addNode('good', node('good'));
  await stage.addNode('bad', node('bad'));
  const keys = [await resources.addKey(home, 'caller'), await resources.addKey(team, 'caller')];
  await encryptWith(['first']);
  await plane.stopApiServer('SIGTERM');
  await plane.startApiServer();
  await resources.addSecret(team, 'bad', { apiKey: 'sk-good' });
  await encryptWith(['second']);
  const read = async (name: string) =>
    (await stage.cluster.client.send('GET', `/api/v1/namespaces/${team}/secrets/${name}`)).status;
  await eventually(
    'the API server has the other key',
    async () => (await read('bad')) === 500,
    reloadMs,
    500,
  );
  expect(await read('good')).toBe(200);

  const began = performance.now();
  const roles = await Promise.all([stage.start('gateway'), stage.start('controller')]);
  await Promise.all(roles.map((role) => role.whenReady(readyLimitMs)));
  measured('one undecryptable Secret → both roles are ready', performance.now() - began, readyLimitMs);
  await stage.until(
    'the others are checked',
    'UpstreamNode',
    'good',
    (found) => found.status?.phase === 'ready',
    {
      namespace: team,
    },
  );
  const caller = stage.caller(keys[1] ?? '');
  await eventually('the good node serves', async () => (await caller.chat('good')).status === 200);
  for (const role of roles) {
    const verbose = await (await fetch(`${role.admin}/readyz?verbose`)).text();
    expect(verbose).toContain(`Secret ${team}/bad cannot be read: the API server answered 500`);
    const { body } = await role.probe('/metrics');
    expect(body).toContain(`modelgateway_store_unreadable_secrets{resource_namespace="${team}"} 1`);
    expect(body).toContain('modelgateway_store_synced{kind="APIKey"} 1');
    expect(role.log().filter(({ msg }) => msg.includes('could not be read')).length).toBeLessThan(3);
  }
});
