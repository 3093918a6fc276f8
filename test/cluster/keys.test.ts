import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateKeyText, hashKeyText } from '../../src/resources/key-text.ts';
import type { Caller } from '../support/caller.ts';
import { eventually } from '../support/eventually.ts';
import { aSecondMs, measured, timeUntil } from '../support/measured.ts';
import { condition, resourcePathOf, type Stored } from '../support/resources.ts';
import { type Stage, startStage } from '../support/stage.ts';

const gatewayURL = 'https://models.example.com/v1';
let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ namespaces: ['keys'], flags: { controller: ['--gateway-url', gatewayURL] } });
  await stage.addNode('node', { upstream: { models: ['m'] } });
  await stage.until('ready', 'UpstreamNode', 'node', (node) => node.status?.phase === 'ready');
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** A key of known text that already opens. */
async function openKey(name: string, spec: Record<string, unknown> = {}): Promise<Caller> {
  const caller = stage.caller(await stage.resources.addKey(stage.home, name, spec));
  await eventually('the key opens', async () => (await caller.chat('m')).status === 200);
  return caller;
}

const refuses = (caller: Caller) => async () => (await caller.chat('m')).status === 401;
const opens = (caller: Caller) => async () => (await caller.chat('m')).status === 200;
const patch = (name: string, body: Record<string, unknown>) => () =>
  stage.resources.patch('APIKey', stage.home, name, body);
const isReady = (object: Stored) => condition(object, 'Ready')?.startsWith('True') ?? false;

async function issuedKey(name: string, known?: string): Promise<string> {
  let text: string | undefined;
  await eventually(`the Secret of ${name} holds a key`, async () => {
    text = (await stage.resources.secret(stage.home, `${name}-secret`))?.text['apiKey'];
    return text !== undefined && text !== known;
  });
  return text ?? '';
}

describe.concurrent('a key is refused within a second, once', () => {
  test('it is disabled, and opens again when enabled', async () => {
    const caller = await openKey('disabled');
    const off = patch('disabled', { spec: { enabled: false } });
    measured('enabled: false → 401', await timeUntil('401', off, refuses(caller)), aSecondMs);
    expect((await caller.chat('m')).text).toContain('disabled');
    expect((await caller.send('GET', '/models')).status).toBe(401);
    const on = patch('disabled', { spec: { enabled: true } });
    measured('enabled: true → 200', await timeUntil('200', on, opens(caller)), aSecondMs);
  });

  test('it is deleted', async () => {
    const caller = await openKey('deleted');
    const remove = () => stage.resources.remove('APIKey', stage.home, 'deleted');
    measured('deleted → 401', await timeUntil('401', remove, refuses(caller)), aSecondMs);
  });

  test('it is being deleted although a finalizer holds it', async () => {
    const text = generateKeyText('api', randomBytes);
    await stage.resources.create(
      'APIKey',
      stage.home,
      'held',
      { hash: hashKeyText(text) },
      { finalizers: ['example.com/hold'] },
    );
    const caller = stage.caller(text);
    await eventually('the key opens', opens(caller));
    const remove = () => stage.resources.remove('APIKey', stage.home, 'held');
    measured('deletionTimestamp → 401', await timeUntil('401', remove, refuses(caller)), aSecondMs);
    const held = await stage.resources.get('APIKey', stage.home, 'held');
    expect(held.metadata).toHaveProperty('deletionTimestamp');
    await patch('held', { metadata: { finalizers: null } })();
    expect((await caller.chat('m')).status).toBe(401);
  });

  test('it has expired, without anything being written', async () => {
    // Whole seconds: the API server keeps no fractions of this field's format in mind, and people write none.
    const expirationTime = new Date(Math.ceil(Date.now() / 1_000 + 3) * 1_000);
    const caller = await openKey('expiring', { expirationTime: expirationTime.toISOString() });
    const wait = expirationTime.getTime() - Date.now();
    await new Promise((resolve) => setTimeout(resolve, wait - 200));
    expect((await caller.chat('m')).status).toBe(200);
    await timeUntil('401', async () => {}, refuses(caller));
    measured('expired → 401', Date.now() - expirationTime.getTime(), aSecondMs);
    expect((await caller.chat('m')).text).toContain('expired');
  });
});

describe.concurrent('a generated key', () => {
  const addGenerated = (name: string, spec: Record<string, unknown> = {}) =>
    stage.resources.create('APIKey', stage.home, name, { secretName: `${name}-secret`, ...spec });

  test('is in its Secret with all that a client needs, owned by its resource, and opens', async () => {
    const secretTemplate = { labels: { team: 'a' }, annotations: { 'example.com/note': 'x' } };
    const created = await addGenerated('issued', { secretTemplate });
    const text = await issuedKey('issued');
    const ready = await stage.until('ready', 'APIKey', 'issued', isReady);
    const secret = await stage.resources.secret(stage.home, 'issued-secret');
    expect(secret?.text).toEqual({
      apiKey: text,
      baseURL: gatewayURL,
      OPENAI_API_KEY: text,
      OPENAI_BASE_URL: gatewayURL,
    });
    expect(secret?.metadata).toMatchObject({
      labels: { team: 'a' },
      annotations: { 'example.com/note': 'x' },
      ownerReferences: [
        {
          apiVersion: 'modelgateway.dev/v1alpha1',
          kind: 'APIKey',
          name: 'issued',
          uid: created.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(text).toMatch(/^mgk_[0-9A-Za-z]{49}$/);
    expect(ready.status?.hashes).toMatchObject([
      { hash: hashKeyText(text), hint: `mgk_...${text.slice(-4)}` },
    ]);
    expect(JSON.stringify(ready)).not.toContain(text);
    await eventually('it opens', opens(stage.caller(text)));
  });

  test('rotates with an overlap in which both open, after which only the new one does', async () => {
    await addGenerated('rotating', { rotation: { revision: 1, overlapSeconds: 4 } });
    const old = await issuedKey('rotating');
    await eventually('the old one opens', opens(stage.caller(old)));
    const began = performance.now();
    await patch('rotating', { spec: { rotation: { revision: 2 } } })();
    const next = await issuedKey('rotating', old);
    await eventually('the new one opens', opens(stage.caller(next)));
    // A machine too busy to get here within the overlap proves nothing about it.
    if (performance.now() - began < 2_500) expect((await stage.caller(old).chat('m')).status).toBe(200);
    const { status } = await stage.resources.get('APIKey', stage.home, 'rotating');
    expect(status?.hashes?.map(({ revision }) => revision)).toEqual([2, 1]);
    await eventually('the old one has ended', refuses(stage.caller(old)), 15_000);
    const overlap = performance.now() - began;
    console.log(
      `measured: rotation: the old key ended ${Math.round(overlap)} ms after the change (overlap 4 s)`,
    );
    // The times in a status have whole seconds.
    expect(overlap).toBeGreaterThan(3_000);
    expect((await stage.caller(next).chat('m')).status).toBe(200);
    await stage.until(
      'the old hash is forgotten',
      'APIKey',
      'rotating',
      (key) => key.status?.hashes?.length === 1,
    );
  });

  test('is revoked by deleting its Secret, and another is issued', async () => {
    await addGenerated('reissued');
    const old = await issuedKey('reissued');
    await eventually('it opens', opens(stage.caller(old)));
    const path = `/api/v1/namespaces/${stage.home}/secrets/reissued-secret`;
    const remove = () => stage.cluster.client.ask('DELETE', path);
    // Two hops: the controller sees the Secret go, then the gateway sees the status change.
    measured('Secret deleted → 401', await timeUntil('401', remove, refuses(stage.caller(old))), 2_000);
    const next = await issuedKey('reissued', old);
    await eventually('the new one opens', opens(stage.caller(next)));
    expect((await stage.caller(old).chat('m')).status).toBe(401);
  });

  test('does not overwrite a Secret of another owner, and is issued after that Secret was deleted', async () => {
    await stage.resources.addSecret(stage.home, 'taken-secret', { apiKey: 'not-ours' });
    await addGenerated('taken');
    await stage.until(
      'conflict',
      'APIKey',
      'taken',
      (key) => condition(key, 'Ready') === 'False SecretConflict',
    );
    expect((await stage.resources.secret(stage.home, 'taken-secret'))?.text).toEqual({ apiKey: 'not-ours' });
    await stage.cluster.client.ask('DELETE', `/api/v1/namespaces/${stage.home}/secrets/taken-secret`);
    const text = await issuedKey('taken');
    await eventually('it opens', opens(stage.caller(text)));
  });

  test('of a MasterKey opens the keys API and nothing else', async () => {
    await stage.resources.create('MasterKey', stage.home, 'master', { secretName: 'master-secret' });
    const caller = stage.caller(await issuedKey('master'));
    await eventually('it opens', async () => (await caller.send('GET', '/keys')).status === 200);
    expect((await caller.chat('m')).code).toBe('wrong_key_kind');
  });
});

test('a hash that two resources claim belongs to the older one', async () => {
  const text = generateKeyText('api', randomBytes);
  const spec = { hash: hashKeyText(text) };
  await stage.resources.create('APIKey', stage.home, 'z-older', spec);
  // creationTimestamp has whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await stage.resources.create('APIKey', stage.home, 'a-younger', { ...spec, models: ['other'] });
  await stage.until(
    'conflict',
    'APIKey',
    'a-younger',
    (key) => condition(key, 'Ready') === 'False HashConflict',
  );
  await stage.until('in force', 'APIKey', 'z-older', isReady);
  const caller = stage.caller(text);
  expect((await caller.chat('m')).status).toBe(200);
  await stage.resources.remove('APIKey', stage.home, 'z-older');
  await eventually(
    'the younger one has it',
    async () => (await caller.chat('m')).code === 'model_not_allowed',
  );
  await stage.until('in force', 'APIKey', 'a-younger', isReady);
});

test('what another manager writes into a status: the next write of the controller removes a hash and keeps a condition', async () => {
  const { resources, home, cluster } = stage;
  await resources.addKey(home, 'tampered');
  const { status = {} } = await stage.until('in force', 'APIKey', 'tampered', isReady);
  const text = generateKeyText('api', randomBytes);
  const hashes = [...(status['hashes'] as object[]), { hash: hashKeyText(text) }];
  const foreign = {
    ...{ type: 'example.com/Audited', status: 'True', reason: 'Read', message: 'was read' },
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const conditions = [...(status['conditions'] as object[]), foreign];
  const path = `${resourcePathOf('APIKey', home, 'tampered')}/status`;
  await cluster.client.ask('PATCH', path, { body: { status: { hashes, conditions } } });
  await eventually('the hash opens nothing', refuses(stage.caller(text)), 10_000);
  const after = await resources.get('APIKey', home, 'tampered');
  expect(after?.status?.['hashes']).toEqual(status['hashes']);
  expect(condition(after as Stored, 'example.com/Audited')).toBe('True Read');
});

test('a status write moves no generation', async () => {
  const path = resourcePathOf('APIKey', stage.home);
  const { items } = (await stage.cluster.client.ask('GET', path)) as { items: Stored[] };
  const untouched = items.filter(({ metadata }) => ['issued', 'reissued', 'taken'].includes(metadata.name));
  expect(untouched).toHaveLength(3);
  for (const { metadata, status } of untouched) {
    expect(metadata.generation).toBe(1);
    expect(status?.['observedGeneration']).toBe(1);
  }
});
